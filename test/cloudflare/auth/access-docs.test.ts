/** The example of docs/deploy.md, "Cloudflare Access before the page", with a signature of Access. */
import { build } from 'esbuild';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { findBlock } from '../../docs.ts';

type Authenticate = (request: Request) => Promise<unknown>;

const algorithm = {
	...{ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
	...{ modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
};
const team = 'https://acme.cloudflareaccess.com';
const valid = { iss: team, aud: ['4714c1358e65fe4b408ad6d432a5f878'], exp: Date.now() / 1_000 + 60 };
let pair: CryptoKeyPair;
let authenticate: Authenticate;

/** Runs the code of the page. */
async function readExample(): Promise<Authenticate> {
	const contents = findBlock('docs/deploy.md', '// src/access.ts');
	const { outputFiles } = await build({
		stdin: { contents, loader: 'ts', resolveDir: import.meta.dirname },
		...{ bundle: true, write: false, format: 'esm' },
	});
	const code = Buffer.from(outputFiles[0]?.text ?? '').toString('base64');
	return (await import(`data:text/javascript;base64,${code}`)).authenticate;
}

beforeAll(async () => {
	pair = (await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair;
	const jwk = await crypto.subtle.exportKey('jwk', pair.publicKey);
	vi.stubGlobal('fetch', async (address: string) => {
		expect(address).toBe(`${team}/cdn-cgi/access/certs`);
		return Response.json({ keys: [{ ...jwk, kid: 'a' }] });
	});
	authenticate = await readExample();
	return () => vi.unstubAllGlobals();
});

async function ask(claims: object, { kid = 'a', by = pair.privateKey }: { kid?: string; by?: CryptoKey } = {}) {
	const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
	const text = `${encode({ alg: 'RS256', kid })}.${encode(claims)}`;
	const signature = await crypto.subtle.sign(algorithm.name, by, new TextEncoder().encode(text));
	const jwt = `${text}.${Buffer.from(signature).toString('base64url')}`;
	return authenticate(new Request('https://a.example', { headers: { 'cf-access-jwt-assertion': jwt } }));
}

describe('the example with Cloudflare Access', () => {
	test('lets in whom Access has signed, as staff or as an admin', async () => {
		expect(await ask({ ...valid, email: 'kim@acme.example' })).toEqual({
			...{ owner: 'acme', user: 'kim@acme.example', role: 'staff' },
		});
		expect(await ask({ ...valid, email: 'ann@acme.example' })).toMatchObject({ role: 'admin' });
	});

	test('lets in nobody else', async () => {
		const other = (await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair;
		const email = 'ann@acme.example';
		expect(await authenticate(new Request('https://a.example'))).toBeUndefined();
		expect(await ask({ ...valid, email }, { by: other.privateKey })).toBeUndefined();
		expect(await ask({ ...valid, email }, { kid: 'b' })).toBeUndefined();
		expect(await ask({ ...valid, email, aud: ['of another application'] })).toBeUndefined();
		expect(await ask({ ...valid, email, iss: 'https://evil.cloudflareaccess.com' })).toBeUndefined();
		expect(await ask({ ...valid, email, exp: Date.now() / 1_000 - 1 })).toBeUndefined();
	});
});
