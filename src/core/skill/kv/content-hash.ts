import { makeOnce } from '../../ground/promises.ts';

const encoder = new TextEncoder();

/** Returns the first 128 bits of a text's SHA-256 in hexadecimal. Synchronous, unlike WebCrypto. */
export function hashContent(text: string): string {
	const { square, cube } = getRoots();
	const state = Uint32Array.from(square);
	const blocks = padBytes(encoder.encode(text));
	const words = new Uint32Array(64);
	for (let at = 0; at < blocks.byteLength; at += 64) addBlock(state, cube, words, new DataView(blocks.buffer, at, 64));
	return [...state.subarray(0, 4)].map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** SHA-256 by FIPS 180-4: the fractions of the square roots and cube roots of the first primes. */
const getRoots = makeOnce(() => {
	const primes: number[] = [];
	for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
	const fraction = (root: number): number => (root % 1) * 2 ** 32;
	return {
		square: Uint32Array.from(primes.slice(0, 8), (prime) => fraction(prime ** (1 / 2))),
		cube: Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
	};
});

function padBytes(bytes: Uint8Array): DataView {
	const whole = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
	whole.set(bytes);
	whole[bytes.length] = 0x80;
	const view = new DataView(whole.buffer);
	view.setBigUint64(whole.length - 8, BigInt(bytes.length) * 8n);
	return view;
}

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

function addBlock(state: Uint32Array, constants: Uint32Array, w: Uint32Array, block: DataView): void {
	for (let n = 0; n < 64; n++) {
		if (n < 16) w[n] = block.getUint32(n * 4);
		else {
			const [x = 0, y = 0] = [w[n - 15], w[n - 2]];
			const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
			const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
			w[n] = (w[n - 16] ?? 0) + s0 + (w[n - 7] ?? 0) + s1;
		}
	}
	let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
	for (let n = 0; n < 64; n++) {
		const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
		const one = (h + s1 + ((e & f) ^ (~e & g)) + (constants[n] ?? 0) + (w[n] ?? 0)) | 0;
		const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
		const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
		h = g;
		g = f;
		f = e;
		e = (d + one) | 0;
		d = c;
		c = b;
		b = a;
		a = (one + two) | 0;
	}
	for (const [n, word] of [a, b, c, d, e, f, g, h].entries()) state[n] = (state[n] ?? 0) + word;
}
