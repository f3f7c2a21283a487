import type * as v from 'valibot';
import { Shortages } from '../objects/ledger/shortages.ts';
import { FullRooms } from '../objects/room.ts';
import type { variables } from './variables.ts';

type Caps = Pick<v.InferOutput<typeof variables>, 'SESSION_BYTES' | 'OWNER_BYTES' | 'USER_BYTES'>;

/** The limits of bytes, and what is remembered of limits that were passed. */
export function createRoom({ SESSION_BYTES: session, OWNER_BYTES: owner, USER_BYTES: user }: Caps) {
	const roomLimits = { session, owner, user };
	return { roomLimits, fullRooms: new FullRooms(roomLimits), shortages: new Shortages() };
}
