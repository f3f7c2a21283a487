import { joinBytes } from '../../../core/base/bytes.ts';
import { RunletError } from '../../../core/base/errors.ts';
import { createDescriber } from '../../../core/workspace/content.ts';
import type { FileBucket, UploadedPart } from '../../config/env.ts';
import type { Bytes } from '../../objects/reach.ts';
import { createGone, type NewContent } from '../store/files.ts';

/** The maximum size in bytes of a file that is stored in rows. Larger files are in the bucket. */
export const mostInRows = 1_048_576;
/** Bytes of a part of an upload. A bucket requires at least 5 MiB. */
const partBytes = 8_388_608;
/** The seconds after which a client may retry. */
const retryAfter = 5;

export async function readObject(bucket: FileBucket | undefined, key: string, from: number, to: number) {
	if (bucket === undefined)
		throw new RunletError(
			'not_configured',
			'FILES: this file is in a bucket that is not bound any more. Bind it again.',
		);
	const found = await reachBucket(() => bucket.get(key, { range: { offset: from, length: to - from } }));
	if (found === null) throw createGone();
	return found;
}

export interface Receiver {
	readonly limit: number;
	readonly bucket: FileBucket | undefined;
	readonly beginKey: () => string;
}

/** Receives the bytes of a file: a small file in memory, a large file in the bucket, part by part. */
export async function receiveContent(body: Bytes, { limit, bucket, beginKey }: Receiver): Promise<NewContent> {
	const describer = createDescriber();
	let held: Uint8Array[] = [];
	let bytes = 0;
	let heldBytes = 0;
	let upload: Upload | undefined;
	try {
		for await (const chunk of readBody(body)) {
			bytes += chunk.length;
			if (bytes > limit) throw createTooLarge(limit, bucket);
			describer.add(chunk);
			held.push(chunk);
			heldBytes += chunk.length;
			if (bucket === undefined || bytes <= mostInRows) continue;
			upload ??= await beginUpload(bucket, beginKey());
			while (heldBytes >= partBytes) {
				const whole = joinBytes(...held);
				await upload.add(whole.subarray(0, partBytes));
				held = [whole.subarray(partBytes)];
				heldBytes -= partBytes;
			}
		}
		const info = describer.end();
		if (upload === undefined) return { ...info, bytes: joinBytes(...held) };
		await upload.end(joinBytes(...held));
		return { ...info, key: upload.key };
	} catch (error) {
		await upload?.abort();
		throw error;
	}
}

type Upload = Awaited<ReturnType<typeof beginUpload>>;

async function beginUpload(bucket: FileBucket, key: string) {
	const upload = await reachBucket(() => bucket.createMultipartUpload(key));
	const parts: UploadedPart[] = [];
	const add = async (bytes: Uint8Array): Promise<void> => {
		parts.push(await reachBucket(() => upload.uploadPart(parts.length + 1, bytes)));
	};
	return {
		key,
		add,
		end: async (rest: Uint8Array): Promise<void> => {
			if (rest.length > 0) await add(rest);
			await reachBucket(() => upload.complete(parts));
		},
		/** Never rejects, because a bucket also removes incomplete uploads itself. */
		abort: () => upload.abort().catch(() => {}),
	};
}

/** Calls the bucket. Throws `storage_unavailable` if it fails. */
export async function reachBucket<T>(call: () => Promise<T>): Promise<T> {
	try {
		return await call();
	} catch (cause) {
		const message = 'The bucket FILES could not be reached just now. Try again in a moment.';
		throw new RunletError('storage_unavailable', message, { retryAfter }, { cause });
	}
}

/** Yields the pieces of a body. Throws `invalid_request` for an interrupted body. */
async function* readBody(body: Bytes): AsyncGenerator<Uint8Array, void> {
	const reader = body.getReader();
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return;
			yield value;
		}
	} catch (cause) {
		const message = 'body: ended before it was whole. Send it again.';
		throw new RunletError('invalid_request', message, { field: 'body' }, { cause });
	} finally {
		reader.cancel().catch(() => {});
	}
}

function createTooLarge(limit: number, bucket: FileBucket | undefined): RunletError {
	const advice = bucket === undefined ? 'Send less, or bind an R2 bucket as FILES' : 'Send less';
	return new RunletError('too_large', `body: more than ${limit} bytes. ${advice}.`, { field: 'body', limit });
}
