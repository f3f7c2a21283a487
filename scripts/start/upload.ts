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

let held = 0;

/**
 * A body as a whole, so that Wrangler never sees one that breaks off. `undefined` where its sender left. Throws
 * `overloaded` where too many are being read.
 */
export async function readUpload(req: IncomingMessage): Promise<Upload | undefined> {
	const isGiven = req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined;
	if (!isGiven) return { isGiven, chunks: [], length: 0 };
	const chunks: Buffer[] = [];
	let length = 0;
	let isRefused = false;
	try {
		for await (const chunk of req) {
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
	return { isGiven, chunks, length };
}
