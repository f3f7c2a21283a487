import { hashText } from '../../core/base/bytes.ts';

/** Returns the number of shards of an owner. It is 1 if the owner has one ledger and one directory. */
export type FindShardCount = (owner: string) => number;

/** The number never changes: it decides in which shard a user is. */
const shardsOfLargeOwner = 64;

export function countShards(largeOwners: readonly string[]): FindShardCount {
	return (owner) => (largeOwners.includes(owner) ? shardsOfLargeOwner : 1);
}

/**
 * Returns the name of the object that has the data of a key: a user, or a session without a user. It is the owner's name
 * if the owner has no shards.
 */
export function nameShard(owner: string, count: number, key: string): string {
	return count === 1 ? owner : toName(owner, Number.parseInt(hashText(key), 36) % count);
}

/** Returns the names of the objects with data of an owner, or of one of its keys. The first is the owner's own object. */
export function listShards(owner: string, count: number, key?: string): readonly string[] {
	if (count === 1) return [owner];
	if (key !== undefined) return [owner, nameShard(owner, count, key)];
	return [owner, ...Array.from({ length: count }, (_, shard) => toName(owner, shard))];
}

/** Returns the owner of a shard. Undefined for an owner's own object. */
export function findOwnerOfShard(name = ''): string | undefined {
	const at = name.indexOf(separator);
	return at < 0 ? undefined : name.slice(0, at);
}

/** No name of an owner has this character. */
const separator = '\0';

/** Returns the name of the object with the uploaded files of an owner. */
export function nameUploads(owner: string): string {
	return toName(owner, 'files');
}

function toName(owner: string, shard: number | 'files'): string {
	return `${owner}${separator}${shard}`;
}
