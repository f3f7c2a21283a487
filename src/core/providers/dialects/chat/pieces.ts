import { isRecord } from '../../../base/json.ts';
import { toInputText } from '../../../tool/call.ts';
import { getNumber, getObject, getObjects, getString, type Json, readJson } from '../../adapter/json.ts';
import type { ReplyBuilder } from '../../adapter/reply.ts';

interface WireCall {
	readonly key: number;
	/** The id from the server. Some servers send no id, or an empty id. */
	id?: string;
	name?: string;
	json: string;
	extra?: Json;
}

/** Joins the pieces of calls. Servers mark them by an index, by an id, or only by repeating the name. */
export function createCallReader(reply: ReplyBuilder) {
	const calls: WireCall[] = [];
	const byIndex = new Map<number, WireCall>();

	const find = ({ index, id, name }: Mark, newest: number): WireCall | undefined => {
		const known = index === undefined ? calls.find((call) => id !== undefined && call.id === id) : byIndex.get(index);
		if (known !== undefined || name !== undefined) return known;
		if (index === undefined) return calls.at(newest) ?? calls.at(-1);
		// A call whose index is missing or already used gets its position as its index.
		return id === undefined ? calls[index] : undefined;
	};
	const begin = (call: WireCall): void => {
		reply.startCall(call.key, call.id, call.name ?? '');
		reply.input(call.key, call.json);
	};

	const takePiece = (piece: Json, newest: number): void => {
		const mark = readMark(piece);
		const { index, id, name } = mark;
		const fn = getObject(piece, 'function');
		const json = isRecord(fn.arguments) ? toInputText(fn.arguments) : (getString(fn, 'arguments') ?? '');
		const found = find(mark, newest);
		const call = found === undefined || isNext(found, mark, json) ? { key: calls.length, json: '' } : found;
		if (call !== found) calls.push(call);
		if (index !== undefined) byIndex.set(index, call);
		call.id ??= id;
		if (isRecord(piece.extra_content)) call.extra = mergeObjects(call.extra ?? {}, piece.extra_content);
		call.json += json;
		if (call.name !== undefined) reply.input(call.key, json);
		else if (name !== undefined) {
			call.name = name;
			begin(call);
		}
	};

	return {
		/** Takes calls, or their pieces, that arrive together. Unmarked pieces continue the newest calls, in order. */
		take: (pieces: readonly Json[]): void => {
			const bare = pieces.length > 1 ? pieces.filter(isBare) : pieces;
			for (const piece of pieces) takePiece(piece, bare.indexOf(piece) - bare.length);
		},
		/** Called after the last piece. Drops a call that has neither a name nor arguments. */
		end: (): void => {
			for (const call of calls) {
				if (call.name !== undefined || call.json === '') continue;
				call.name = '';
				begin(call);
			}
		},
		isEmpty: (): boolean => calls.every(({ name }) => name === undefined),
		/** Returns the data to send back with calls, by the calls' ids in the reply. */
		metadata: (): Json =>
			Object.fromEntries(
				calls.flatMap(({ key, extra }) =>
					extra === undefined ? [] : [[reply.callId(key) ?? '', { extra_content: extra }]],
				),
			),
	};
}

/** The marks of a piece. An empty id or name counts as missing. */
interface Mark {
	readonly index: number | undefined;
	readonly id: string | undefined;
	readonly name: string | undefined;
}

function readMark(piece: Json): Mark {
	const name = getString(getObject(piece, 'function'), 'name') || undefined;
	return { index: getNumber(piece, 'index'), id: getString(piece, 'id') || undefined, name };
}

function isBare(piece: Json): boolean {
	return Object.values(readMark(piece)).every((mark) => mark === undefined);
}

/** Whether a piece with a call's index already belongs to the next call. */
function isNext(call: WireCall, { id, name }: Mark, json: string): boolean {
	if (name === undefined || call.name === undefined) return false;
	if (id !== undefined && call.id !== undefined) return id !== call.id;
	// Without ids, another name begins the next call. So does a piece with all arguments after a complete call.
	return name !== call.name || (isWhole(json) && isWhole(call.json));
}

function isWhole(json: string): boolean {
	return json.startsWith('{') && json.endsWith('}') && isRecord(readJson(json));
}

/** The fields of a part that arrive in pieces. */
const growing = ['text', 'summary'];

/** Joins streamed pieces to whole parts. Drops empty pieces. */
export function gatherPieces(pieces: readonly Json[]): Json[] {
	const parts: Json[] = [];
	for (const piece of pieces) if (piece.type !== 'text' || piece.text !== '') gather(parts, piece);
	return parts;
}

/** Adds a piece to a list of parts. A piece that continues the last part is added to this part. */
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
