/** Cuts a text before the first of these words, even if a word is split over several pieces. */
export interface Stopper {
	/** Adds a piece and returns the text that can be shown now. */
	take(more: string): string;
	/** Returns the rest after the last piece. */
	end(): string;
}

export function createStopper(words: readonly string[]): Stopper {
	/** Text that is held back because it may be the start of a word. */
	let held = '';
	let isOver = false;
	return {
		take: (more) => {
			if (isOver) return '';
			const text = held + more;
			const places = words.map((word) => text.indexOf(word)).filter((place) => place !== -1);
			if (places.length > 0) {
				isOver = true;
				held = '';
				return text.slice(0, Math.min(...places));
			}
			const kept = Math.max(0, ...words.map((word) => measureWordStart(text, word)));
			held = text.slice(text.length - kept);
			return text.slice(0, text.length - kept);
		},
		end: () => {
			const rest = held;
			held = '';
			return rest;
		},
	};
}

/** Returns how many characters at the end of the text may be the start of a word. */
function measureWordStart(text: string, word: string): number {
	for (let length = Math.min(text.length, word.length - 1); length > 0; length--)
		if (text.endsWith(word.slice(0, length))) return length;
	return 0;
}
