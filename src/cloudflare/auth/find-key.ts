import { fromBase64Url } from '../../core/base/bytes.ts';
import { digestKey, isOver, type KeyRecord, readKeyId } from './key.ts';

/** Returns the record of a key that has not expired. An unknown key costs the same work as a known one. */
export async function findKey(key: string, records: readonly KeyRecord[]): Promise<KeyRecord | undefined> {
	const record = await findMatch(key, (id) => records.find((one) => one.id === id));
	return record === undefined || isOver(record) ? undefined : record;
}

export type FindRecord = (id: string) => KeyRecord | undefined | Promise<KeyRecord | undefined>;

/** Returns the record of a key, even if the key has expired. */
export async function findMatch(key: string, find: FindRecord): Promise<KeyRecord | undefined> {
	const id = readKeyId(key);
	const digest = await digestKey(key);
	const record = id === undefined ? undefined : await find(id);
	const expected = record === undefined ? nobody : fromBase64Url(record.hash);
	const isEqual = digest.byteLength === expected.byteLength && crypto.subtle.timingSafeEqual(digest, expected);
	return isEqual ? record : undefined;
}

const nobody = new Uint8Array(32);
