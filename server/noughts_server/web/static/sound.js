// The sounds of games, made here: pages load no sounds.
const KEY = "game-sound"; // Whether the visitor turned sound on, in this browser.
let context = null;

export function isSoundKept() {
  try {
    return localStorage.getItem(KEY) === "true";
  } catch {
    return false; // This browser stores nothing.
  }
}

export function keepSound(on) {
  try {
    localStorage.setItem(KEY, on);
  } catch {
    // This browser stores nothing.
  }
}

// The knock of a stone.
export function knock() {
  play({ from: 420, to: 110, glide: 0.07, volume: 0.25, length: 0.09 });
}

// Two quiet tones for a win.
export function chime() {
  play({ from: 523, to: 523, volume: 0.08, length: 0.35 });
  play({ from: 784, to: 784, volume: 0.08, length: 0.5, after: 0.14 });
}

// Frequencies in Hz, times in seconds.
function play({ from, to, glide = 0.01, volume, length, after = 0 }) {
  context ??= new AudioContext();
  const start = context.currentTime + after;
  const tone = context.createOscillator();
  const loudness = context.createGain();
  tone.frequency.setValueAtTime(from, start);
  tone.frequency.exponentialRampToValueAtTime(to, start + glide);
  loudness.gain.setValueAtTime(volume, start);
  loudness.gain.exponentialRampToValueAtTime(0.001, start + length);
  tone.connect(loudness).connect(context.destination);
  tone.start(start);
  tone.stop(start + length + 0.01);
}
