import type { IncomingMessage } from 'node:http';
import { maxLines } from '../../cloudflare/wire/import.ts';
import { bodyTooLarge, maxBody, maxFile, maxWebhookBody } from '../../cloudflare/wire/limits.ts';
import { RunletError } from '../../core/ground/errors.ts';

/** The body of a request. */
export interface Upload {
	/** Whether the request has a body, which may be empty. */
	readonly isGiven: boolean;
	readonly chunks: readonly Buffer[];
	/** The number of bytes. */
	readonly length: number;
	/** Frees the chunks. Call it when they are no longer needed. */
	readonly release: () => void;
}

/** The limits of uploads. */
export interface UploadLimits {
	/** The most bytes of one body. The default depends on the path. */
	readonly bytes?: number;
	/** The most bytes of all held bodies together. */
	readonly bytesHeld: number;
	/** The most bodies that are read in parallel. */
	readonly count: number;
	/** Milliseconds that a sender may be silent. */
	readonly silenceMs: number;
	/** Milliseconds that one body may take. */
	readonly totalMs: number;
}

const usual: UploadLimits = {
	bytesHeld: maxLines,
	count: 200,
	silenceMs: 30_000,
	totalMs: 120_000,
};

/** A body that is not passed on. */
export const noBody: Upload = { isGiven: true, chunks: [], length: 0, release: () => {} };

/**
 * Reads bodies completely, so that Wrangler never sees an incomplete one. Returns undefined if the sender disconnected.
 * Throws `too_large`, `timeout`, or `overloaded` if too much is being read. Throws at once, while the sender may still
 * be sending.
 */
export function createUploads(given: Partial<UploadLimits> = {}, basePath = '') {
	const limits = { ...usual, ...given };
	let count = 0;
	let held = 0;

	return async (req: IncomingMessage): Promise<Upload | undefined> => {
		const isGiven = req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined;
		if (!isGiven) return { ...noBody, isGiven };
		const { bytes = findLimit(req.url?.slice(basePath.length) ?? '') } = limits;
		if (Number(req.headers['content-length'] ?? 0) > bytes) throw bodyTooLarge(bytes);
		if (count >= limits.count) throw tooMany();
		const { promise, resolve, reject } = Promise.withResolvers<Upload | undefined>();
		const chunks: Buffer[] = [];
		let length = 0;
		const release = (): void => {
			held -= length;
			length = chunks.length = 0;
		};
		const silence = setTimeout(() => reject(tooSlow('nothing came for', limits.silenceMs)), limits.silenceMs);
		const total = setTimeout(() => reject(tooSlow('it was not whole after', limits.totalMs)), limits.totalMs);
		const take = (chunk: Buffer): void => {
			silence.refresh();
			chunks.push(chunk);
			length += chunk.length;
			held += chunk.length;
			if (length > bytes) reject(bodyTooLarge(bytes));
			else if (held > limits.bytesHeld) reject(tooMany());
		};
		req.on('data', take);
		req.once('end', () => resolve({ isGiven, chunks, length, release }));
		req.once('close', () => resolve(undefined));
		req.on('error', () => resolve(undefined));
		count++;
		try {
			const upload = await promise;
			if (upload === undefined) release();
			return upload;
		} catch (error) {
			release();
			throw error;
		} finally {
			count--;
			clearTimeout(silence);
			clearTimeout(total);
			req.off('data', take);
		}
	};
}

/** The most bytes of a body by the path of its route. */
function findLimit(path: string): number {
	if (path.startsWith('/v1/webhooks/')) return maxWebhookBody;
	if (/^\/v1\/sessions\/import(?:\?|$)/.test(path)) return maxLines;
	return /^\/v1\/sessions\/[^/]+\/files\//.test(path) ? maxFile : maxBody;
}

function tooMany(): RunletError {
	return new RunletError('overloaded', 'Too many uploads at once. Try again in a second.', { retryAfter: 1 });
}

function tooSlow(what: string, ms: number): RunletError {
	const words = `The upload stopped: ${what} ${ms / 1_000} seconds. Send the whole body, as long as Content-Length says.`;
	return new RunletError('timeout', words);
}
