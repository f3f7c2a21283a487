/** The distance between the places of two messages. A turn may have one call less than that. */
export const messageStride = 65_536;

/** Returns the place of the turn that a place belongs to. */
export function toTurnPlace(seq: number): number {
	return seq - (seq % messageStride);
}

/** Returns the place of the next turn behind a place. */
export function findNextPlace(last: number): number {
	return toTurnPlace(last) + messageStride;
}
