import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { operations } from '../../../src/cloudflare/openapi/operations.ts';
import { createSession, request } from '../../client.ts';

interface Refusal {
	readonly error: { readonly code: string; readonly message: string; readonly data?: { readonly field?: string } };
}

async function messageAt(path: string): Promise<string> {
	const response = await request(path);
	const { error }: Refusal = await response.json();
	expect(response.status, path).toBe(400);
	expect(error.code).toBe('invalid_request');
	return error.message;
}

test('every route refuses an unknown query parameter, except routes with ignoresQuery', async () => {
	const [id, open] = [await createSession(), new Set<string>()];
	for (const [name, { path, method }] of Object.entries(operations)) {
		const at = path
			.replace(':id', id)
			.replace(':chat', id)
			.replace(':message', '65536')
			.replace(/:(agent|model)/, 'scripted')
			.replace(':name', 'x')
			.replace(':source', 'github');
		const hasBody = ['post', 'put', 'patch'].includes(method);
		const response = await SELF.fetch(`http://localhost${at}?nonsense=1`, {
			method: method.toUpperCase(),
			...(hasBody && { body: '{}', headers: { 'content-type': 'application/json' } }),
		});
		const text = await response.text();
		if (!text.includes('nonsense')) open.add(name);
		else expect([response.status, JSON.parse(text).error.data], name).toEqual([400, { field: 'nonsense' }]);
	}
	expect([...open].sort()).toEqual(
		[
			...['createCompletion', 'getModel', 'listModels', 'createMessage', 'countTokens'],
			...['callA2a', 'getAgentCard'],
			...['listChat', 'postChat', 'resumeChat', 'stopChat', 'runAgui'],
			...[
				'cancelResponse',
				'createResponse',
				'deleteResponse',
				'getResponse',
				'listInputItems',
				'openSocket',
				'compact',
			],
			...['createConversation', 'deleteConversation', 'getConversation', 'listConversationItems'],
			'createEmbedding',
			...['createUpload', 'deleteUpload', 'getUpload', 'getUploadContent', 'listUploads'],
			...['getDocs', 'receiveWebhook'],
			...['decide', 'showDecision'],
			...['finishLogin', 'getClientMetadata'],
		].sort(),
	);
});

test('the error for an unknown parameter suggests the nearest parameter, or lists all parameters', async () => {
	expect(await messageAt('/v1/sessions?limti=5')).toBe('limti: no such query parameter. Did you mean limit?');
	expect(await messageAt('/v1/skills?q=tone')).toMatch(/^q: no such query parameter\. Did you mean query\?$/);
	expect(await messageAt('/v1/skills?page=2')).toMatch(/^page: .*Possible: cursor, limit, query\.$/);
	expect(await messageAt('/v1/agents?limit=2')).toBe('limit: no such query parameter. This route takes none.');
});

test('refuses a repeated parameter', async () => {
	expect(await messageAt('/v1/sessions?limit=1&limit=2')).toBe('limit: given twice in the query. Give it once.');
});

test('the error for an odd parameter name shows the name shortened and escaped', async () => {
	expect(await messageAt('/v1/agents?=1')).toMatch(/^"": no such query parameter/);
	expect(await messageAt('/v1/agents?__proto__=1')).toMatch(/^__proto__: no such query parameter/);
	const long = await messageAt(`/v1/agents?${'x'.repeat(5_000)}=1`);
	expect(long.length).toBeLessThan(200);
	expect(await messageAt('/v1/agents?%E2%80%AE%0A=1')).toMatch(/^"\\u202e\\n": no such/);
});
