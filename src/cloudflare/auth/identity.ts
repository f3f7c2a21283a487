import type { Actor } from '../../core/base/actor.ts';
import { RunletError } from '../../core/base/errors.ts';
import { type FindRecord, findMatch } from './find-key.ts';
import { isOver, readKeyId, type Scope, scopes } from './key.ts';
import type { Role } from './rights.ts';
import { readToken } from './token.ts';

/** The caller of a request: an actor with an API key or an account, or the holder of a session token. */
export type Identity =
	| {
			readonly kind: 'person';
			readonly by: Actor;
			/** Rights in the owner. */
			readonly role: Role;
			/** Rights for all owners. */
			readonly scopes: readonly Scope[];
			/** Requests in 10 seconds, if the key limits them. */
			readonly rate?: number | undefined;
	  }
	/** Only the session can verify it. */
	| { readonly kind: 'token'; readonly session: string; readonly token: string };

export const localIdentity = {
	kind: 'person',
	by: { owner: 'local', via: 'key', id: 'local' },
	role: 'admin',
	scopes,
} satisfies Identity;

/** The owner of webhooks whose mapping names none, if there are API keys. */
export const webhookOwner = 'webhooks';

/** The owner of schedules that name none, if there are API keys. */
export const scheduleOwner = 'schedules';

const tokenStart = 'rls_';

const bearer = /^Bearer +([\x21-\x7e]+) *$/i;

/** Identifies a caller. Throws `auth`, which does not tell whether a key is unknown, revoked or misspelt. */
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

/** Identifies a session token, or this machine. Any other key is ignored: OpenAI's clients must send one. */
export async function identifyLocal(header: string | undefined): Promise<Identity> {
	const isToken = bearer.exec(header ?? '')?.[1]?.startsWith(tokenStart) === true;
	return isToken ? identify(header, async () => undefined) : localIdentity;
}

/** Whether a header has an API key or a session token, by its form. */
export function isOwnCredential(header: string | undefined): boolean {
	const text = bearer.exec(header ?? '')?.[1] ?? '';
	return readToken(text) !== undefined || readKeyId(text) !== undefined;
}

function createRefusal(why: string, challenge?: 'invalid_token'): RunletError {
	return new RunletError('auth', `Authorization: ${why}.`, { field: 'Authorization', ...(challenge && { challenge }) });
}
