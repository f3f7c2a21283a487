import type { StepCounter, Steps } from '../../ground/work.ts';

/** What is looked through: a text by its characters, or lines. */
interface Sequence {
	readonly length: number;
	readonly at: (index: number) => unknown;
	/** The steps to compare one of it. */
	readonly steps: number;
}

/** A text as what is looked through. */
export function toCharacters(text: string): Sequence {
	return { length: text.length, at: (index) => text.charCodeAt(index), steps: 1 };
}

/** Lines as what is looked through. */
export function toLines(lines: readonly string[]): Sequence {
	const characters = lines.reduce((sum, { length }) => sum + length, 0);
	return { length: lines.length, at: (index) => lines[index], steps: 2 + characters / (lines.length + 1) / 8 };
}

/** Where something stands. */
interface Places {
	readonly count: number;
	/** Where it begins: all places, or the first ones. */
	readonly first: readonly number[];
}

interface FindOptions {
	/** How many places are given. The default is all. */
	readonly most?: number;
	/** Whether places may share a part. */
	readonly overlapping: boolean;
}

/**
 * Finds the places where a sequence, which is not empty, stands in another one. The work grows with their lengths, and no
 * faster (Knuth, Morris and Pratt), which the engine's own search does not promise.
 */
export function* findPlaces(
	all: Sequence,
	wanted: Sequence,
	{ most = Infinity, overlapping }: FindOptions,
	work: StepCounter,
): Steps<Places> {
	const back = yield* listBackSteps(wanted, work);
	const first: number[] = [];
	let [matched, count] = [0, 0];
	for (let index = 0; index < all.length; index++) {
		const one = all.at(index);
		while (matched > 0 && one !== wanted.at(matched)) matched = back[matched - 1] ?? 0;
		if (one === wanted.at(matched)) matched++;
		if (work.spend(2 * all.steps)) yield;
		if (matched < wanted.length) continue;
		if (first.length < most) first.push(index + 1 - wanted.length);
		count++;
		matched = overlapping ? (back[matched - 1] ?? 0) : 0;
	}
	return { count, first };
}

/** For each beginning of a sequence, how much of its end is a beginning, too. */
function* listBackSteps(wanted: Sequence, work: StepCounter): Steps<Uint32Array> {
	const back = new Uint32Array(wanted.length);
	for (let index = 1, matched = 0; index < wanted.length; index++) {
		const one = wanted.at(index);
		while (matched > 0 && one !== wanted.at(matched)) matched = back[matched - 1] ?? 0;
		if (one === wanted.at(matched)) matched++;
		back[index] = matched;
		if (work.spend(2 * wanted.steps)) yield;
	}
	return back;
}
