import type { Actor } from '../../core/base/actor.ts';
import { RunletError } from '../../core/base/errors.ts';
import { type FindRecord, findMatch } from './find-key.ts';
import { isOver, readKeyId, type Scope, scopes } from './key.ts';
import type { Role } from './rights.ts';
import { readToken } from './token.ts';

/** Who makes a request: an actor by an API key or an account, or the holder of a token that opens one session. */
export type Identity =
	| {
			readonly kind: 'person';
			readonly by: Actor;
			/** What they may do in their owner. */
			readonly role: Role;
			/** What they may do for all owners. */
			readonly scopes: readonly Scope[];
			/** The requests that its key may make in 10 seconds, if the key says it. */
			readonly rate?: number | undefined;
	  }
	/** Not verified yet: only the session itself can verify it. */
	| { readonly kind: 'token'; readonly session: string; readonly token: string };

/** The identity of this machine, in the local mode. */
export const localIdentity = {
	kind: 'person',
	by: { owner: 'local', via: 'key', id: 'local' },
	role: 'admin',
	scopes,
} satisfies Identity;

/** The owner of webhooks whose mapping names none, if there are API keys. A key made with `--owner webhooks` sees them. */
export const webhookOwner = 'webhooks';

/** The owner of agents' schedules that name none, if there are API keys. A key made with `--owner schedules` sees them. */
export const scheduleOwner = 'schedules';

/** How a session token begins. */
const tokenStart = 'rls_';

const bearer = /^Bearer +([\x21-\x7e]+) *$/i;

/**
 * Returns the identity that the `Authorization` header stands for. Throws `auth`, which does not say whether a key is
 * unknown, revoked or misspelt. An unknown key costs the same work as a known one.
 */
export async function identify(header: string | undefined, find: FindRecord): Promise<Identity> {
	if (header === undefined || header.trim() === '')
		throw createRefusal('missing. Send your API key, or a session token: Authorization: Bearer rl_…');
	const text = bearer.exec(header)?.[1];
	if (text === undefined) throw createRefusal('expected Bearer and an API key or a session token');
	const claims = readToken(text);
	if (claims !== undefined) return { kind: 'token', session: claims.session, token: text };
	const record = await findMatch(text, find);
	if (record === undefined)
		throw createRefusal(
			text.startsWith(tokenStart)
				? 'this session token is not valid. Ask for a new one'
				: 'this key is not known, or was revoked. npm run keys -- list has those that are; npm start -- --keys reads them when it starts',
			'invalid_token',
		);
	if (isOver(record))
		throw createRefusal(
			`this key ended on ${record.expiresAt}: another one of its owner took its place. Use that one`,
			'invalid_token',
		);
	const { id, owner, user, role = 'admin', scopes, rate } = record;
	return { kind: 'person', by: { owner, ...(user !== undefined && { user }), via: 'key', id }, role, scopes, rate };
}

/**
 * Returns the identity of this machine or, where a session token is sent, that of the token. Any other credential is
 * ignored: OpenAI's clients have to send some key.
 */
export async function identifyLocal(header: string | undefined): Promise<Identity> {
	const isToken = bearer.exec(header ?? '')?.[1]?.startsWith(tokenStart) === true;
	return isToken ? identify(header, async () => undefined) : localIdentity;
}

/** Whether a header has the form of an API key or of a session token. */
export function isOwnCredential(header: string | undefined): boolean {
	const text = bearer.exec(header ?? '')?.[1] ?? '';
	return readToken(text) !== undefined || readKeyId(text) !== undefined;
}

function createRefusal(why: string, challenge?: 'invalid_token'): RunletError {
	return new RunletError('auth', `Authorization: ${why}.`, { field: 'Authorization', ...(challenge && { challenge }) });
}
