import { isJson, type Json, objects, string } from '../../adapter/json.ts';

/** The fields of a part that are streamed in pieces. */
const growing = ['text', 'summary'];

/** Parts as they were before they were streamed, without those that say nothing. */
export function gathered(pieces: readonly Json[]): Json[] {
	const parts: Json[] = [];
	for (const piece of pieces) if (piece.type !== 'text' || piece.text !== '') gather(parts, piece);
	return parts;
}

/** Adds a piece to a list of parts: to the last one, where it goes on with it. */
function gather(parts: Json[], piece: Json): void {
	const last = parts.at(-1);
	const goesOn = last !== undefined && last.type === piece.type && last.index === piece.index;
	if (!goesOn || (!isGrowing(piece) && piece.signature === undefined)) {
		parts.push(piece);
		return;
	}
	const more = Object.entries(piece).filter(([, value]) => value !== null);
	parts[parts.length - 1] = {
		...last,
		...Object.fromEntries(more),
		...Object.fromEntries(growing.flatMap((key) => joined(key, last, piece))),
		...(Array.isArray(piece.thinking) && { thinking: joinedThoughts(last, piece) }),
	};
}

function isGrowing(piece: Json): boolean {
	return growing.some((key) => typeof piece[key] === 'string') || Array.isArray(piece.thinking);
}

function joined(key: string, last: Json, piece: Json): [string, string][] {
	const [before, after] = [string(last, key), string(piece, key)];
	return before === undefined && after === undefined ? [] : [[key, `${before ?? ''}${after ?? ''}`]];
}

/** The texts inside of Mistral's `thinking`, neighbours as one. */
function joinedThoughts(last: Json, piece: Json): Json[] {
	const all = [...objects(last, 'thinking')];
	for (const thought of objects(piece, 'thinking')) gather(all, thought);
	return all;
}

/** Objects of objects, the later fields winning. */
export function merged(before: Json, after: Json): Json {
	const inner = Object.entries(after).map(([key, value]) => {
		const own = before[key];
		return [key, isJson(own) && isJson(value) ? merged(own, value) : value] as const;
	});
	return { ...before, ...Object.fromEntries(inner) };
}
