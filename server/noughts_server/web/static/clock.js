// A clock's time, as `1:05` or, when little is left, `0:07.3`.
export function clock(micros) {
  const all = micros / 1e6;
  const minutes = Math.floor(all / 60);
  const rest = all - 60 * minutes;
  return `${minutes}:${rest < 10 ? "0" : ""}${all < 20 ? rest.toFixed(1) : Math.floor(rest)}`;
}

// Shows the clocks of both sides. That of the side to move runs from the last ply (`heard`) until now, or until the
// server went away (`stopped`).
export function showClocks(game, heard, stopped = null) {
  const running = game.state === "running" ? game.moves.length % 2 : -1;
  ["first", "second"].forEach((side, number) => {
    const left = game[`${side}_clock_us`];
    const gone = number === running ? ((stopped ?? performance.now()) - heard) * 1000 : 0;
    const place = document.getElementById(`clock-${side}`);
    place.textContent = left === null || left === undefined ? "" : clock(Math.max(0, left - gone));
    place.parentElement.classList.toggle("to-move", number === running);
  });
}
