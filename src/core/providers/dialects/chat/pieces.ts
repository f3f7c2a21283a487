import { isRecord } from '../../../base/json.ts';
import { getObjects, getString, type Json } from '../../adapter/json.ts';

/** The fields of a part that arrive in pieces. */
const growing = ['text', 'summary'];

/** Joins streamed pieces back to whole parts. Drops empty ones. */
export function gatherPieces(pieces: readonly Json[]): Json[] {
	const parts: Json[] = [];
	for (const piece of pieces) if (piece.type !== 'text' || piece.text !== '') gather(parts, piece);
	return parts;
}

/** Adds a piece to a list of parts, or to the last part if it continues it. */
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
		...Object.fromEntries(growing.flatMap((key) => joinPiece(key, last, piece))),
		...(Array.isArray(piece.thinking) && { thinking: joinThoughts(last, piece) }),
	};
}

function isGrowing(piece: Json): boolean {
	return growing.some((key) => typeof piece[key] === 'string') || Array.isArray(piece.thinking);
}

function joinPiece(key: string, last: Json, piece: Json): [string, string][] {
	const [before, after] = [getString(last, key), getString(piece, key)];
	return before === undefined && after === undefined ? [] : [[key, `${before ?? ''}${after ?? ''}`]];
}

/** Joins neighbouring texts in Mistral's `thinking`. */
function joinThoughts(last: Json, piece: Json): Json[] {
	const all = [...getObjects(last, 'thinking')];
	for (const thought of getObjects(piece, 'thinking')) gather(all, thought);
	return all;
}

/** Merges objects at any depth. Later fields win. */
export function mergeObjects(before: Json, after: Json): Json {
	const inner = Object.entries(after).map(([key, value]) => {
		const own = before[key];
		return [key, isRecord(own) && isRecord(value) ? mergeObjects(own, value) : value] as const;
	});
	return { ...before, ...Object.fromEntries(inner) };
}
