import type { IncomingMessage } from 'node:http';
import { RunletError } from '../../src/errors.ts';

/** The body of a request. */
export interface Upload {
	/** Whether there is one; it may be empty. */
	readonly isGiven: boolean;
	readonly chunks: readonly Buffer[];
	/** Bytes. */
	readonly length: number;
}

/**
 * Bytes of a body that are passed on: more than any route of the Worker takes, so that it is the Worker that refuses what
 * is too long, in its own words. What comes behind them is read and forgotten.
 */
const maxUpload = 32_000_000;

/** Bytes of all bodies that are being read. */
const maxUploads = 512_000_000;

/** How long a sender may send nothing before its upload is over. */
const maxSilenceMs = 30_000;

let held = 0;

/**
 * A body as a whole, so that Wrangler never sees one that breaks off. `undefined` where its sender left. Throws
 * `overloaded` where too many are being read, and `timeout` where the sender falls silent; who called then closes the
 * connection, since the rest may still come.
 */
export async function readUpload(req: IncomingMessage, silenceMs = maxSilenceMs): Promise<Upload | undefined> {
	const isGiven = req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined;
	if (!isGiven) return { isGiven, chunks: [], length: 0 };
	const { promise: silence, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(() => {
		const words = `The upload stopped: nothing came for ${silenceMs / 1_000} seconds. Send the whole body, as long as Content-Length says.`;
		reject(new RunletError('timeout', words));
	}, silenceMs);
	try {
		return await Promise.race([readAll(req, () => timer.refresh()), silence]);
	} finally {
		clearTimeout(timer);
	}
}

/** Goes on until the sender is done or gone, also when nobody waits for it any more. */
async function readAll(req: IncomingMessage, onChunk: () => void): Promise<Upload | undefined> {
	const chunks: Buffer[] = [];
	let length = 0;
	let isRefused = false;
	try {
		for await (const chunk of req) {
			onChunk();
			if (length >= maxUpload || isRefused) continue;
			if (held + chunk.length > maxUploads) {
				isRefused = true;
				continue;
			}
			chunks.push(chunk);
			length += chunk.length;
			held += chunk.length;
		}
	} catch {
		return undefined;
	} finally {
		held -= length;
	}
	if (isRefused)
		throw new RunletError('overloaded', 'Too many uploads at once. Try again in a second.', { retryAfter: 1 });
	return { isGiven: true, chunks, length };
}
