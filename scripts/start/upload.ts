import type { IncomingMessage } from 'node:http';
import { bodyTooLarge, maxBody, maxWebhookBody } from '../../src/cloudflare/wire/body.ts';
import { RunletError } from '../../src/core/ground/errors.ts';

/** The body of a request. */
export interface Upload {
	/** Whether there is one; it may be empty. */
	readonly isGiven: boolean;
	readonly chunks: readonly Buffer[];
	/** Bytes. */
	readonly length: number;
	/** Call it when the chunks are not needed any more. */
	readonly release: () => void;
}

/** How much is read, and for how long. */
export interface UploadLimits {
	/** Bytes of one body; by its path, where it is not said. */
	readonly bytes?: number;
	/** Bytes of all bodies together that are held. */
	readonly bytesHeld: number;
	/** Bodies that are read at a time. */
	readonly count: number;
	/** How long a sender may send nothing, in milliseconds. */
	readonly silenceMs: number;
	/** How long one body may take, in milliseconds. */
	readonly totalMs: number;
}

const usual: UploadLimits = {
	bytesHeld: 256_000_000,
	count: 200,
	silenceMs: 30_000,
	totalMs: 120_000,
};

/** A body that is not sent on. */
export const noBody: Upload = { isGiven: true, chunks: [], length: 0, release: () => {} };

/**
 * Reads bodies as a whole, so that Wrangler never sees one that breaks off. Gives `undefined` where its sender left. Throws
 * `too_large`, `timeout`, and `overloaded` where too much is being read: as soon as that is known, while the sender may go
 * on sending.
 */
export function createUploads(given: Partial<UploadLimits> = {}) {
	const limits = { ...usual, ...given };
	let count = 0;
	let held = 0;

	return async (req: IncomingMessage): Promise<Upload | undefined> => {
		const isGiven = req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined;
		if (!isGiven) return { ...noBody, isGiven };
		const { bytes = req.url?.startsWith('/v1/webhooks/') ? maxWebhookBody : maxBody } = limits;
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

function tooMany(): RunletError {
	return new RunletError('overloaded', 'Too many uploads at once. Try again in a second.', { retryAfter: 1 });
}

function tooSlow(what: string, ms: number): RunletError {
	const words = `The upload stopped: ${what} ${ms / 1_000} seconds. Send the whole body, as long as Content-Length says.`;
	return new RunletError('timeout', words);
}
