import type { Context } from 'hono';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import type { Once } from '../objects/once.ts';
import type { FoundRun } from '../objects/session-api.ts';
import type { Place } from '../routes/conversation.ts';
import type { PersonCaller, RouteEnv } from '../routes/identity.ts';
import { askSession, toSessionId } from '../routes/respond.ts';
import { readHead } from '../wire/protocols/responses/head.ts';
import {
	formatResponseId,
	parseConversationId,
	parseResponseId,
	type RunPlace,
} from '../wire/protocols/responses/ids.ts';
import { type ReadInput, readInput } from '../wire/protocols/responses/input.ts';
import type { ResponseRequest } from '../wire/protocols/responses/schema.ts';
import { isOfConnection } from './socket.ts';

interface Asking {
	readonly caller: PersonCaller;
	readonly once: Once | undefined;
	readonly agent: string;
}

interface FoundPlace {
	readonly place: Place;
	/** The run after which the request goes on. */
	readonly after?: number;
	readonly input: ReadInput;
}

/**
 * Finds where a request goes on: in its `conversation`, after its `previous_response_id`, after the response that the
 * newest output item of its input belongs to, or else in a new session.
 */
export async function findPlace(
	c: Context<RouteEnv>,
	asking: Asking,
	{ conversation, previous_response_id: previous, input: given, store: isKept }: ResponseRequest,
): Promise<FoundPlace> {
	if (conversation != null) {
		const name = typeof conversation === 'string' ? conversation : conversation.id;
		const session = parseConversationId(name);
		if (session === undefined) throw createFieldError('not_found', 'conversation', 'there is no such conversation.');
		return { place: { id: toSessionId(c, session), isKept: true }, input: readInput(given, 'conversation') };
	}
	if (previous != null) {
		const input = readInput(given, 'response');
		const place = parseResponseId(previous);
		if (place === undefined) throw createUnknown('previous_response_id');
		return { ...(await findAfter(c, asking, place, 'previous_response_id')), input };
	}
	const input = readInput(given, undefined);
	const { named } = input;
	if (named === undefined) return { place: { isKept }, input };
	const { session, run } = named;
	if (run !== undefined) return { ...(await findAfter(c, asking, { session, run }, 'input')), input };
	return { place: { id: toSessionId(c, session), isKept: true }, input };
}

/** Goes on in the session if the response is its newest. An earlier response goes on in a copy of the session up to it. */
async function findAfter(
	c: Context<RouteEnv>,
	asking: Asking,
	{ session, run: n }: RunPlace,
	field: string,
): Promise<Omit<FoundPlace, 'input'>> {
	const run = await findRun(c, asking, { session, run: n }, field);
	const id = toSessionId(c, session);
	const isOpen = readHead(run.kept)?.store === true || isOfConnection(c, formatResponseId({ session, run: n }));
	if (!isOpen) throw createUnknown(field);
	if (run.isRepeated) return { place: { id, isKept: true } };
	if (run.isNewest) return { place: { id, isKept: true }, after: n };
	const { caller, once, agent } = asking;
	if (run.agent !== agent)
		throw createFieldError('invalid_request', 'model', `the response is one of "${run.agent}", not of "${agent}".`);
	const original = { session, at: run.last, caller };
	return {
		place: {
			isKept: true,
			prepare: async (copy) => {
				const about = { ...caller, user: run.user, original, once: once && { ...once, key: `${once.key} copy` } };
				await askSession(c, copy, (one) => one.import(about), once !== undefined);
			},
		},
	};
}

async function findRun(
	c: Context<RouteEnv>,
	{ caller, once }: Asking,
	{ session, run }: RunPlace,
	field: string,
): Promise<FoundRun> {
	try {
		return await askSession(c, toSessionId(c, session), (one) => one.findRun(caller, run, 'sendMessage', once), true);
	} catch (error) {
		throw error instanceof RunletError && error.code === 'not_found' ? createUnknown(field) : error;
	}
}

function createUnknown(field: string): RunletError {
	return createFieldError('not_found', field, 'there is no such response. It is deleted, or was not stored.');
}
