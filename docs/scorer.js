// How the search ranks pages. Guides come before references, references before explanations; the rest are the values of Sphinx.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    score +
    ({ tutorials: 4, "how-to": 4, reference: 2 }[page.split("/")[0]] ?? 0) -
    (page.startsWith("reference/commands/") ? 1 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
