/** Numbers in a vector of the demo model. */
const dimensions = 256;

/** Words without a subject. */
const empty = new Set(
	'a an and are as at be by can do for from how i in is it of on or that the this to was what when where which who will with you your'.split(
		' ',
	),
);

/**
 * Makes a vector of length 1 for a text. It counts words and their pieces of three letters in 256 places, which a hash
 * chooses. The same text always has the same vector, and texts that share words or parts of words are near each other.
 * It knows no meaning: `car` and `automobile` are far apart.
 */
export function demoEmbedding(text: string): readonly number[] {
	const vector = new Array<number>(dimensions).fill(0);
	for (const [word] of text
		.toLowerCase()
		.normalize('NFKD')
		.matchAll(/[\p{L}\p{N}]+/gu)) {
		if (empty.has(word)) continue;
		add(vector, word, 2);
		for (let at = 0; at + 3 <= word.length + 2; at++) add(vector, `_${word}_`.slice(at, at + 3), 1);
	}
	const length = Math.hypot(...vector);
	return length === 0 ? vector : vector.map((value) => value / length);
}

/**
 * Counts a piece in its place (FNV-1a). Another bit chooses the sign, so pieces that share a place do not only add up.
 */
function add(vector: number[], piece: string, weight: number): void {
	let hash = 0x811c9dc5;
	for (let at = 0; at < piece.length; at++) hash = Math.imul(hash ^ piece.charCodeAt(at), 0x01000193);
	const place = (hash >>> 1) % dimensions;
	vector[place] = (vector[place] ?? 0) + (hash & 1 ? weight : -weight);
}
