// A page that could not be shown for now: it is asked for again until it can be.
async function ask() {
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (answer.status < 500) {
      location.reload();
      return;
    }
  } catch {
    // The site itself is away.
  }
  setTimeout(ask, 2000);
}
setTimeout(ask, 2000);
