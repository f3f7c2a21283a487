import { isRecord } from '../../../base/json.ts';
import { toInputText } from '../../../tool/call.ts';
import { getNumber, getObject, getString, type Json } from '../../adapter/json.ts';
import type { ReplyBuilder } from '../../adapter/reply.ts';
import { mergeObjects } from './pieces.ts';

type Room = undefined | Promise<void>;

/** A call that is being streamed. Its key never changes. */
interface WireCall {
	readonly key: number;
	/** The id from the server. Some servers send none, or an empty one. */
	id: string | undefined;
	name: string | undefined;
	/** The pieces of its arguments. */
	readonly json: string[];
	extra: Json | undefined;
}

/**
 * Puts calls together from their pieces. Servers mark the pieces of a call in different ways: by an index, by an id, or
 * only by repeating the name.
 */
export function createCallReader(reply: ReplyBuilder) {
	const calls: WireCall[] = [];
	const byIndex = new Map<number, WireCall>();

	const find = ({ index, id, name }: Mark, newest: number): WireCall | undefined => {
		const known = index === undefined ? calls.find((call) => id !== undefined && call.id === id) : byIndex.get(index);
		if (known !== undefined || name !== undefined) return known;
		if (index === undefined) return calls.at(newest) ?? calls.at(-1);
		// A call without an index, or with one that was taken, gets the index of its place.
		return id === undefined ? calls[index] : undefined;
	};
	const begin = (call: WireCall): Room => {
		const { room } = reply.startCall(call.key, call.id, call.name ?? '');
		return reply.input(call.key, call.json.join('')) ?? room;
	};

	const takeOne = (piece: Json, newest: number): Room => {
		const mark = readMark(piece);
		const { index, id, name } = mark;
		const said = getObject(piece, 'function');
		const json = isRecord(said.arguments) ? toInputText(said.arguments) : (getString(said, 'arguments') ?? '');
		const found = find(mark, newest);
		const call = found === undefined || isNext(found, id, name, json) ? createCall(calls.length) : found;
		if (call !== found) calls.push(call);
		if (index !== undefined) byIndex.set(index, call);
		call.id ??= id;
		if (isRecord(piece.extra_content)) call.extra = mergeObjects(call.extra ?? {}, piece.extra_content);
		if (json !== '') call.json.push(json);
		if (call.name !== undefined) return reply.input(call.key, json);
		call.name = name;
		return name === undefined ? undefined : begin(call);
	};

	return {
		/**
		 * Takes calls, or pieces of calls, that arrive together. Several unmarked pieces continue the same number of newest
		 * calls.
		 */
		take: (pieces: readonly Json[]): Room => {
			const bare = pieces.length > 1 ? pieces.filter(isBare) : pieces;
			let room: Room;
			for (const piece of pieces) room = takeOne(piece, bare.indexOf(piece) - bare.length) ?? room;
			return room;
		},
		/** Called after the last piece. Drops a call that never got a name, unless it has arguments to show. */
		end: (): void => {
			for (const call of calls) {
				if (call.name !== undefined || call.json.length === 0) continue;
				call.name = '';
				begin(call);
			}
		},
		none: (): boolean => calls.every(({ name }) => name === undefined),
		/** Returns the data that calls need back, by their ids in the reply. */
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

function createCall(key: number): WireCall {
	return { key, id: undefined, name: undefined, json: [], extra: undefined };
}

/** Whether a piece with a call's index is already the next call. */
function isNext(call: WireCall, id: string | undefined, name: string | undefined, json: string): boolean {
	if (name === undefined || call.name === undefined) return false;
	if (id !== undefined && call.id !== undefined) return id !== call.id;
	// Without ids the next call shows by another name, or by complete arguments after complete arguments.
	return name !== call.name || (isWhole(json) && isWhole(call.json.join('')));
}

function isWhole(json: string): boolean {
	if (!json.startsWith('{') || !json.endsWith('}')) return false;
	try {
		return isRecord(JSON.parse(json));
	} catch {
		return false;
	}
}
