require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const [variant, side, ...moves] = line.split(" ");
    let cell = 0;
    while (moves.includes(String(cell))) cell++;
    console.log(cell);
  });
