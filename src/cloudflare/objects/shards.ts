import { hashText } from '../../core/base/bytes.ts';

/** Returns the number of shards of an owner. It is 1 if the owner has one ledger and one directory. */
export type FindShardCount = (owner: string) => number;

/** The number never changes: it decides in which shard a user is. */
const shardsOfLargeOwner = 64;

export function countShards(largeOwners: readonly string[]): FindShardCount {
	return (owner) => (largeOwners.includes(owner) ? shardsOfLargeOwner : 1);
}

/**
 * Returns the name of the object that has the data of a key, such as a user or a session. It is the owner's name if
 * the owner has no shards. Names of owners have no spaces.
 */
export function nameShard(owner: string, count: number, key: string): string {
	if (count === 1) return owner;
	return toName(owner, Number.parseInt(hashText(key), 36) % count);
}

/** Returns the names of all objects with data of an owner. The first is the owner's own object. */
export function listShards(owner: string, count: number): readonly string[] {
	if (count === 1) return [owner];
	return [owner, ...Array.from({ length: count }, (_, shard) => toName(owner, shard))];
}

/** Returns the owner of a shard. Undefined for an owner's own object. */
export function findOwnerOfShard(name = ''): string | undefined {
	const [owner, shard] = name.split(' ');
	return shard === undefined ? undefined : owner;
}

function toName(owner: string, shard: number): string {
	return `${owner} ${shard}`;
}
