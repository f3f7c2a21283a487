import { RunletError } from '../../../core/base/errors.ts';
import { log, toFailureFields } from '../../log.ts';
import type { Bytes } from '../../objects/reach.ts';
import { reachBucket, readObject, receiveContent } from '../files/bucket.ts';
import type { ArchivedSession } from '../store/archive.ts';
import { readLines } from './imported.ts';
import { toPieceStream } from './pieces.ts';
import type { InboxContext } from './transaction.ts';

/** The pause before a failed attempt to archive a session is repeated, in milliseconds. */
const againMs = 3_600_000;

type Context = Pick<InboxContext, 'id' | 'store' | 'config'>;

/**
 * Moves the rows of a session to the bucket (docs/data.md, "Archive"). Throws if that fails: then the session stays.
 *
 * Before anything is written, the outbox gets the key as one to remove. So it removes an archive that was not finished.
 * The archive has that row, too, so it is removed after it was restored.
 *
 * @param isUnused whether nobody has opened the session meanwhile. If somebody has, the session stays
 * @param expiresAt the time of the archived session's alarm, in milliseconds since 1970
 */
export async function archiveSession(
	{ id, store, config }: Context,
	isUnused: () => boolean,
	expiresAt: number | undefined,
): Promise<void> {
	const { files: bucket, archiveAfterMs } = config();
	if (bucket === undefined) throw new RunletError('not_configured', 'FILES: not bound, so no session is archived.');
	const key = `archives/${id}/${crypto.randomUUID()}`;
	store.outbox.beginWriting(key, Date.now());
	try {
		const lines = toPieceStream(store.archive.list(id), { isThere: true });
		const body = lines.pipeThrough(new CompressionStream('gzip'));
		const content = await receiveContent(body, { limit: Number.POSITIVE_INFINITY, bucket, beginKey: () => key });
		if ('bytes' in content) await reachBucket(() => bucket.put(key, content.bytes));
		if (!isUnused()) return;
		await store.alarm.set(expiresAt);
		const { owner, user, rerun } = store.session();
		if (isUnused()) store.archive.leave({ key, bytes: content.size, owner, user, rerun, status: store.status });
	} catch (cause) {
		store.noteUse(Date.now() - (archiveAfterMs ?? 0) + againMs);
		throw cause;
	} finally {
		store.outbox.endWriting(key);
	}
}

/**
 * Brings the rows of a session back, all or none. Throws `storage_unavailable` or `not_configured` if that may succeed
 * later, and `internal` for an archive that is missing or damaged.
 */
export async function restoreSession({ id, store, config }: Context, { key, bytes }: ArchivedSession): Promise<void> {
	try {
		const found = await readObject(config().files, key, 0, bytes);
		await store.archive.restore(id, unzip(found.body), Date.now());
	} catch (cause) {
		const mayPass = cause instanceof RunletError && cause.status === 503 && !(cause.cause instanceof TypeError);
		const event = mayPass ? 'session.not_restored' : 'session.archive_damaged';
		log('error', event, { 'runlet.object.id': id, ...toFailureFields(cause) });
		if (mayPass) throw cause;
		const message = 'The archive of this session is missing or damaged. The log names the session.';
		throw new RunletError('internal', message, undefined, { cause });
	}
}

/** Throws `storage_unavailable` if the bucket fails, with a `TypeError` as its cause if the bytes are not whole. */
async function* unzip(body: Bytes): AsyncGenerator<string> {
	const gzip = new DecompressionStream('gzip');
	const copied = reachBucket(() => body.pipeTo(gzip.writable));
	copied.catch(() => {});
	for await (const { text } of readLines(gzip.readable, true)) yield text;
	await copied;
}
