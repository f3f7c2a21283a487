import { close } from '../../../core/chat/event.ts';
import type { RunEvent } from '../../../core/chat/index.ts';
import type { Config } from '../../config/config.ts';
import { readLines } from '../../objects/outside-call.ts';
import { type Bytes, takeValue } from '../../objects/reach.ts';
import type { PassedReader } from '../../objects/session-api.ts';
import { createProtocol } from '../../wire/protocols/format.ts';
import { follow } from './follow.ts';
import { mostReaders, parseEventId, RunLog } from './log.ts';
import { createLease, Revocations } from './token-lease.ts';

/**
 * Passes a reader of a live run on to a relay. Each relay gets as many readers as a session serves by itself.
 *
 * @param boot the instance of the session's object
 */
export function passOn(log: RunLog, boot: string, how: Omit<PassedReader, 'relay' | 'live'>): PassedReader {
	const live = nameLive(boot, log.run);
	return { ...how, live, relay: `relay ${how.session} ${live} ${Math.floor(log.passed++ / mostReaders)}` };
}

export function nameLive(boot: string, run: number): string {
	return `${boot} ${run}`;
}

/** A line of JSON of a feed. */
type FeedLine = { readonly event: RunEvent } | { readonly revoked: string };

/** Streams all events of a run to a relay, and the tokens that were revoked since this instance began. */
export function writeFeed(log: RunLog, { ids }: Revocations): Bytes {
	const encoder = new TextEncoder();
	const cursor = log.cursor();
	let told = 0;
	let isCancelled = false;
	const readNews = (): readonly FeedLine[] => {
		const revoked = [...ids].slice(told);
		told = ids.size;
		return [...revoked.map((id) => ({ revoked: id })), ...log.read(cursor).map(({ event }) => ({ event }))];
	};
	return new ReadableStream({
		type: 'bytes',
		pull: async (controller) => {
			while (!isCancelled) {
				const lines = readNews().map((line) => `${JSON.stringify(line)}\n`);
				if (lines.length > 0) return controller.enqueue(encoder.encode(lines.join('')));
				if (log.settle(cursor) || log.isLeft) return close(controller);
				await log.change(mostReaders);
			}
		},
		cancel: () => {
			isCancelled = true;
		},
	});
}

interface Feed {
	readonly log: RunLog;
	readonly revocations: Revocations;
	readonly end: () => void;
}

/**
 * The work of a relay: reads the feed of a run once, for many readers (docs/events.md, "Many readers"). Without readers,
 * and after the feed, it is idle. If the feed breaks, the streams of the readers end, and the readers resume.
 */
export class Relay {
	readonly #config: () => Config;
	#feed: Feed | undefined;

	constructor(config: () => Config) {
		this.#config = config;
	}

	follow(passed: PassedReader): Bytes {
		const { from, head, reader, token } = passed;
		if (this.#feed?.log.isLeft !== false) this.#feed = this.#open(passed);
		const { log, revocations, end } = this.#feed;
		const onLeave = () => log.readers === 0 && end();
		const protocol = head && createProtocol({ type: 'ui' }, { uiHead: () => head });
		const lease = token && createLease(token, this.#config, revocations);
		return follow(log, parseEventId(from), protocol, { lease, reader, onLeave });
	}

	#open(passed: PassedReader): Feed {
		const stop = new AbortController();
		const end = (): void => {
			stop.abort();
			feed.log.leave();
		};
		// The session already sends the pieces of a text together.
		const feed = { log: new RunLog(parseEventId(passed.from).run, [], 0), revocations: new Revocations(), end };
		this.#read(passed, feed, stop.signal).then(end, end);
		return feed;
	}

	async #read(passed: PassedReader, { log, revocations }: Feed, signal: AbortSignal): Promise<void> {
		const { sessions } = this.#config();
		const bytes = takeValue(await sessions.get(sessions.idFromString(passed.session)).feed(passed));
		for await (const line of readLines<FeedLine>(bytes, signal))
			if ('event' in line) log.append([line.event]);
			else revocations.add(line.revoked);
	}
}
