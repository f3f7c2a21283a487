import type { Context } from 'hono';
import { RunletError } from '../../core/base/errors.ts';
import { isTerminal } from '../../core/chat/event.ts';
import type { RunEvent } from '../../core/chat/index.ts';
import { insist } from '../agent/child-reader.ts';
import { readConfig } from '../config/config.ts';
import { readLines } from '../objects/outside-call.ts';
import { type Bytes, type Failure, toError } from '../objects/reach.ts';
import type { Caller } from '../objects/session-api.ts';
import type { RouteEnv } from './identity.ts';

/** The format in which Responses and A2A read a run from its session. */
export const format = { type: 'events' } as const;

type Line =
	| { readonly event: RunEvent; readonly id?: string }
	| { readonly closed: Failure }
	/** The connection is silent. */
	| { readonly isSilent: true };

export type RunLine = Exclude<Line, { readonly closed: Failure }>;

interface Followed {
	readonly session: DurableObjectId;
	readonly caller: Caller;
	/** The stream of the run's events. */
	readonly stream: Bytes;
}

/**
 * Reads the events of a run to its end. If the session's object restarts meanwhile, reads on at the same place. Throws
 * if the caller loses access.
 */
export async function* readRun(
	c: Context<RouteEnv>,
	{ session, caller, stream }: Followed,
): AsyncGenerator<RunLine, undefined> {
	const { sessions } = readConfig(c.env);
	const { signal } = new AbortController();
	let last: string | undefined;
	for (let bytes: Bytes | undefined = stream; bytes !== undefined; ) {
		try {
			for await (const line of readLines<Line>(bytes, signal, { isSilent: true })) {
				if ('closed' in line) throw toError(line.closed);
				yield line;
				if ('isSilent' in line) continue;
				if (isTerminal(line.event)) return;
				last = line.id ?? last;
			}
		} catch (error) {
			if (error instanceof RunletError) throw error;
		}
		if (last === undefined) throw new RunletError('interrupted', 'The answer was lost, and its run may go on.');
		bytes = await insist(signal, () => sessions.get(session).events(caller, last, format));
	}
}

/** Reads the first event of a run. Returns the number of the run, and all lines with the event. */
export async function readStart(
	lines: AsyncGenerator<RunLine, undefined>,
): Promise<{ readonly run: number; readonly all: AsyncGenerator<RunLine> }> {
	for (;;) {
		const { value: first } = await lines.next();
		if (first === undefined) throw new Error('A run ended without its first event.');
		if ('isSilent' in first || first.id === undefined) continue;
		return { run: Number.parseInt(first.id, 10), all: startWith(first, lines) };
	}
}

async function* startWith(first: RunLine, rest: AsyncGenerator<RunLine, undefined>): AsyncGenerator<RunLine> {
	yield first;
	yield* rest;
}
