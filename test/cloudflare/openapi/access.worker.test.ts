import { env } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { hashKey, type KeyRecord, makeKey, type Scope } from '../../../src/cloudflare/auth/key.ts';
import { type DescribedOperation, described } from '../../../src/cloudflare/openapi/operations.ts';
import worker from '../../worker.ts';

/** What removes the session comes last. */
const operations = Object.values<DescribedOperation>(described).sort((a, b) => rank(a) - rank(b));

function rank({ id }: DescribedOperation): number {
	return id === 'deleteSession' ? 1 : 0;
}

async function keyFor(scope: Scope): Promise<{ key: string; record: KeyRecord }> {
	const { key, id } = makeKey();
	return { key, record: { id, owner: 'alice', hash: await hashKey(key), scopes: [scope] } };
}

test('every operation is open to whom the document says, and to nobody else', async () => {
	const [run, admin] = [await keyFor('run'), await keyFor('admin')];
	const bindings = { ...env, LOCAL: 'false', API_KEYS: JSON.stringify([run.record, admin.record]) };
	const ask = (path: string, method: string, credential: string | undefined, type?: string, body?: string) =>
		worker.request(
			`https://runlet.example.com${path}`,
			{
				method: method.toUpperCase(),
				headers: {
					...(credential !== undefined && { authorization: `Bearer ${credential}` }),
					...(type !== undefined && { 'content-type': type }),
				},
				body,
			},
			bindings,
		);
	const created = await ask('/v1/sessions', 'post', run.key, 'application/json', '{"agent":"scripted"}');
	const { id, token } = await created.json<{ id: string; token: string }>();

	for (const { id: name, method, path, access, adminToo, json, examples = {}, body } of operations) {
		const place = path
			.replace(':id', id)
			.replace(':message', '1')
			.replace(':chat', id)
			.replace(/:(name|model|agent|source)/g, 'none');
		const media = json === undefined ? body : { 'application/json': { example: Object.values(examples)[0] } };
		const [type, { example } = {}] = Object.entries(media ?? {})[0] ?? [];
		const text = (typeof example === 'string' ? example : JSON.stringify(example))?.replaceAll('chat-1', id);
		const as = async (credential?: string) => {
			const response = await ask(place, method, credential, type, text);
			await response.body?.cancel();
			return response.status;
		};
		const none = await as();
		expect(none === 401, `${name} without a credential: ${none}`).toBe(access !== 'anybody' && access !== 'sender');
		const withToken = await as(token);
		expect(withToken === 403, `${name} with a token: ${withToken}`).toBe(
			['owner', 'run', 'key', 'admin', 'keys'].includes(access),
		);
		const other = access === 'admin' ? run.key : admin.key;
		const withOther = await as(other);
		// Without a name of an owner the list is of its own sessions.
		const needsScope =
			['token', 'owner', 'run', 'admin', 'keys'].includes(access) && (!adminToo || name === 'listSessions');
		expect(withOther === 403, `${name} with a key that has another scope: ${withOther}`).toBe(needsScope);
	}
});
