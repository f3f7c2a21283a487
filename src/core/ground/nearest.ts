/** The most characters of a word that are compared. A longer word resembles none of our names. */
const longest = 64;

/** Finds the name that was probably meant by a mistyped word. Returns `undefined` if none is near enough. */
export function findNearest(word: string, names: readonly string[]): string | undefined {
	if (word.length > longest) return undefined;
	const wanted = word.toLowerCase();
	let best: { readonly name: string; readonly distance: number } | undefined;
	for (const name of names) {
		const distance = isAffix(wanted, name.toLowerCase()) ? 1 : countEdits(wanted, name.toLowerCase());
		const allowed = Math.max(1, Math.floor(Math.max(wanted.length, name.length) / 3));
		if (distance <= allowed && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { name, distance };
	}
	return best?.name;
}

/** Whether a word is the beginning or the end of a name: `q` of `query`, `ids` of `sessionIds`. */
function isAffix(word: string, name: string): boolean {
	return word !== '' && (name.startsWith(word) || (word.length > 2 && name.endsWith(word)));
}

/** Counts the letters to insert, drop, replace, or swap with a neighbour to turn one word into the other. */
function countEdits(a: string, b: string): number {
	let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, column) => column)];
	for (let row = 1; row <= a.length; row++) {
		const next = [row];
		for (let column = 1; column <= b.length; column++) {
			const isEqual = a[row - 1] === b[column - 1];
			const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
			next.push(
				Math.min(
					(last[column - 1] ?? 0) + (isEqual ? 0 : 1),
					(last[column] ?? 0) + 1,
					(next[column - 1] ?? 0) + 1,
					isSwapped ? (before[column - 2] ?? Number.POSITIVE_INFINITY) + 1 : Number.POSITIVE_INFINITY,
				),
			);
		}
		[before, last] = [last, next];
	}
	return last[b.length] ?? 0;
}
