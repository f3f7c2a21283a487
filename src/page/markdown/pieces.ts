/**
 * Cuts a long text of lines into pieces, each of which is read and laid out by itself. Where it is cut does not depend on
 * what follows much later: a piece that stands is not drawn again while the text grows.
 */

/** The characters of a piece. It ends behind the shortest at the first sentence or line in which all marks come in pairs. */
const shortest = 2_000;
const longest = 4_000;

const marks = '*_`~$[]()';
const markOrGap = /[*_`~$[\]()]|(?<=[\p{L}\p{N}.,:;!?])\s(?=[\p{L}\p{N}])/gu;

export function splitPieces(text: string): readonly string[] {
	const pieces: string[] = [];
	let from = 0;
	while (text.length - from > shortest) {
		const to = findCut(text, from);
		if (to === undefined) break;
		pieces.push(text.slice(from, to));
		from = to;
	}
	return from < text.length ? [...pieces, text.slice(from)] : pieces;
}

/** Finds where the piece that begins at `from` ends, if that is known yet. */
function findCut(text: string, from: number): number | undefined {
	const last = from + longest;
	const counts = new Map<string, number>();
	let best: { readonly at: number; readonly badness: number } | undefined;
	markOrGap.lastIndex = from;
	for (let match = markOrGap.exec(text); match !== null && match.index < last; match = markOrGap.exec(text)) {
		const [found] = match;
		const at = match.index + 1;
		if (marks.includes(found)) counts.set(found, (counts.get(found) ?? 0) + 1);
		else if (at - from > shortest) {
			const badness = 2 * countOpen(counts) + (found === '\n' || /[.:!?]/.test(text.charAt(at - 2)) ? 0 : 1);
			if (badness === 0) return at;
			if (best === undefined || badness <= best.badness) best = { at, badness };
		}
	}
	if (text.length <= last) return undefined;
	// One word of thousands of letters is cut anywhere, but not within a character.
	return best?.at ?? (/[\udc00-\udfff]/.test(text.charAt(last)) ? last + 1 : last);
}

function countOpen(counts: ReadonlyMap<string, number>): number {
	const count = (mark: string) => counts.get(mark) ?? 0;
	const odd = [...'*_`~$'].filter((mark) => count(mark) % 2 > 0).length;
	return odd + Math.abs(count('[') - count(']')) + Math.abs(count('(') - count(')'));
}
