// The knock of a stone, made here: pages load no sounds.
let context = null;

export function knock() {
  context ??= new AudioContext();
  const now = context.currentTime;
  const tone = context.createOscillator();
  const loudness = context.createGain();
  tone.frequency.setValueAtTime(420, now);
  tone.frequency.exponentialRampToValueAtTime(110, now + 0.07);
  loudness.gain.setValueAtTime(0.25, now);
  loudness.gain.exponentialRampToValueAtTime(0.001, now + 0.09);
  tone.connect(loudness).connect(context.destination);
  tone.start(now);
  tone.stop(now + 0.1);
}
