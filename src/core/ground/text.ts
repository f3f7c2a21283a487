/** Returns the beginning of a text: at most `length` UTF-16 code units, and never half of a surrogate pair. */
export function truncateText(text: string, length: number): string {
	if (text.length <= length) return text;
	const end = Math.max(0, length);
	return text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end);
}

/** Returns the part of a text around a place: at most `length` code units, with `…` where it is cut. */
export function cutAround(text: string, place: number, length: number): string {
	if (text.length <= length) return text;
	const wanted = Math.max(0, Math.min(place - Math.floor(length / 2), text.length - length));
	const from = isHighSurrogate(text.charCodeAt(wanted - 1)) ? wanted - 1 : wanted;
	const shown = truncateText(text.slice(from), length);
	return `${from > 0 ? '…' : ''}${shown}${from + shown.length < text.length ? '…' : ''}`;
}

/** Splits a text into pieces of at most `length` code units (2 or more). No piece ends within a surrogate pair. */
export function splitText(text: string, length: number): string[] {
	const pieces: string[] = [];
	for (let at = 0; at < text.length; ) {
		const piece = truncateText(text.slice(at, at + length + 1), length);
		pieces.push(piece);
		at += piece.length;
	}
	return pieces;
}

/** Replaces control characters, except tabs and line breaks, by U+FFFD. */
export function replaceControls(text: string): string {
	return text.replace(/[^\P{Cc}\t\n\r]/gu, '\ufffd');
}

function isHighSurrogate(unit: number): boolean {
	return unit >= 0xd800 && unit <= 0xdbff;
}
