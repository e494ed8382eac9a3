// A worker that solves a challenge: a number such that the SHA-256 of `CHALLENGE:NUMBER` begins with zero bits.
// Browsers have SHA-256 only as a promise for each hash, which is too slow for a million of them. FIPS 180-4, section 6.2.
const primes = [];
for (let number = 2; primes.length < 64; number++) if (primes.every((prime) => number % prime)) primes.push(number);
const fraction = (number) => ((number - Math.floor(number)) * 2 ** 32) | 0;
const CONSTANTS = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
const START = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
const words = new Int32Array(64);

// Returns the state after one more block of 64 bytes.
function compress(state, view, offset, result) {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(offset + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15];
    const y = words[i - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + CONSTANTS[i] + words[i]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  result[0] = state[0] + a;
  result[1] = state[1] + b;
  result[2] = state[2] + c;
  result[3] = state[3] + d;
  result[4] = state[4] + e;
  result[5] = state[5] + f;
  result[6] = state[6] + g;
  result[7] = state[7] + h;
}

function zeroBits(state) {
  let bits = 0;
  for (const word of state) {
    bits += Math.clz32(word);
    if (word) break;
  }
  return bits;
}

// The complete blocks of `CHALLENGE:` are the same for all numbers, so they are compressed once.
function solve(challenge, bits) {
  const prefix = new TextEncoder().encode(`${challenge}:`);
  const kept = prefix.length & ~63;
  const first = Int32Array.from(START);
  const view = new DataView(prefix.buffer);
  for (let offset = 0; offset < kept; offset += 64) compress(first, view, offset, first);
  const tail = new Uint8Array(128);
  const tailView = new DataView(tail.buffer);
  const state = new Int32Array(8);
  for (let number = 0; ; number++) {
    const digits = String(number);
    let length = prefix.length - kept;
    tail.fill(0);
    tail.set(prefix.subarray(kept));
    for (let i = 0; i < digits.length; i++) tail[length++] = digits.charCodeAt(i);
    tail[length] = 0x80;
    const end = length < 56 ? 64 : 128;
    tailView.setUint32(end - 4, 8 * (kept + length));
    compress(first, tailView, 0, state);
    if (end === 128) compress(state, tailView, 64, state);
    if (zeroBits(state) >= bits) return digits;
  }
}

addEventListener("message", ({ data: { challenge, bits } }) => postMessage(solve(challenge, bits)));
