/** The Worker of the walk, with keys and logins for everybody. */
import { env } from 'cloudflare:test';
import type { Authenticate } from '../../../../src/cloudflare/auth/identity.ts';
import { hashKey, type KeyRecord, makeKey } from '../../../../src/cloudflare/auth/key.ts';
import type { Role } from '../../../../src/cloudflare/auth/rights.ts';
import { createApp } from '../../../../src/cloudflare/routes/app.ts';
import { plugins, runtime } from '../../../worker.ts';
import { type Person, users } from './persons.ts';
import type { PersonCaller } from './truth.ts';

const roles: readonly Role[] = ['customer', 'staff', 'admin'];

/** Reads an account from the cookie of the product. */
const authenticate: Authenticate = (request) => {
	const [, account] = /\baccount=([\w%.-]+)/.exec(request.headers.get('cookie') ?? '') ?? [];
	return account === undefined ? undefined : JSON.parse(decodeURIComponent(account));
};

/** Creates the Worker with a key and a login for each person in each role. Operators have two of each kind. */
export async function createWorld() {
	const records: KeyRecord[] = [];
	const people: PersonCaller[] = [];
	const addKey = async ({ owner, user }: Person, role: Role, scopes: KeyRecord['scopes']) => {
		const { key, id } = makeKey();
		records.push({ id, owner, user, role, scopes, hash: await hashKey(key) });
		const actor = { owner, ...(user !== undefined && { user }), via: 'key', id } as const;
		const headers: Record<string, string> =
			people.length % 3 ? { authorization: `Bearer ${key}` } : { 'x-api-key': key };
		people.push({ kind: 'person', owner, user, role, scopes, actor, headers });
	};
	const addLogin = ({ owner, user }: Person, role: Role, scopes: KeyRecord['scopes']) => {
		const account = { owner, user, role, ...(scopes.join() !== 'run' && { scopes }) };
		const actor = { owner, ...(user !== undefined && { user }), via: 'account', id: user ?? owner } as const;
		const headers = { cookie: `theme=dark; account=${encodeURIComponent(JSON.stringify(account))}` };
		people.push({ kind: 'person', owner, user, role, scopes, actor, headers });
	};
	for (const owner of ['walk-a', 'walk-b'])
		for (const user of [undefined, ...users])
			for (const role of roles) {
				await addKey({ owner, user }, role, ['run']);
				addLogin({ owner, user }, role, ['run']);
			}
	for (const scopes of [['admin'], ['run', 'admin']] as const) {
		await addKey({ owner: 'walk-o' }, 'admin', scopes);
		addLogin({ owner: 'walk-o' }, 'admin', scopes);
	}
	const app = createApp({ ...runtime, authenticate }, plugins);
	const bindings = { ...env, LOCAL: 'false', RATE_LIMITER: undefined, API_KEYS: JSON.stringify(records) };
	const request = async (path: string | Request, init?: RequestInit) => app.request(path, init, bindings);
	return { people, request };
}
