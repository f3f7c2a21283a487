import { describe, expect, test } from 'vitest';
import { type Agent, defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { mcp } from '../../../src/cloudflare/mcp/index.ts';
import { createRunlet } from '../../../src/cloudflare/runlet/create.ts';

const url = 'https://mcp.example.com/mcp';
const define = (mcp: unknown, name = 'one'): Agent =>
	Reflect.apply(defineAgent, undefined, [{ name, description: 'Has servers.', mcp }]);
const start = (...agents: readonly Agent[]) => createRunlet({ agents, plugins: [mcp] });

describe('an agent', () => {
	test('defines servers by URL, with headers from environment variables', () => {
		const headers = { authorization: `Bearer \${TRACKER_KEY}` };
		const servers = [{ name: 'tracker', url, headers, auth: 'oauth', allow: ['a'], needsApproval: ['a'], safe: ['a'] }];
		expect(define(servers).mcp).toEqual(servers);
		expect(() => start(define(servers))).not.toThrow();
		expect(() => start(define([{ name: 'local', url: 'http://127.0.0.1:9000/mcp' }]))).not.toThrow();
	});

	test.each<[what: string, mcp: unknown, message: RegExp]>([
		['servers that are not a list', { name: 'a', url }, /mcp: must be a list of servers/],
		['a name with capitals', [{ name: 'Tracker', url }], /mcp\.0\.name: Use a-z/],
		['the name of a route', [{ name: 'callback', url }], /mcp\.0\.name: is the name of a route/],
		[
			'two servers with the same name',
			[
				{ name: 'a', url },
				{ name: 'a', url },
			],
			/mcp: two of them have one name/,
		],
		['a private host', [{ name: 'a', url: 'https://db.internal/' }], /mcp\.0\.url: a name of a private network/],
		['http', [{ name: 'a', url: 'http://mcp.example.com/' }], /mcp\.0\.url: not https/],
		['a mistyped field', [{ name: 'a', url, alow: [] }], /Did you mean allow/],
		['a connection header', [{ name: 'a', url, headers: { host: 'b' } }], /mcp\.0\.headers\.host/],
		[
			'a key in the code',
			[{ name: 'a', url, headers: { authorization: `Bearer sk-${'a1'.repeat(20)}` } }],
			/mcp\.0\.headers: it has what looks like a key/,
		],
		['a client secret in the code', [{ name: 'a', url, auth: { clientSecret: 'hunter22' } }], /mcp\.0\.auth/],
	])('with %s is refused when the Worker starts', (_, servers, message) => {
		expect(() => start(define(servers))).toThrow(message);
	});

	test('cannot use the name of another agent’s server for a different URL', () => {
		const one = define([{ name: 'a', url }]);
		const other = define([{ name: 'a', url: 'https://other.example.com/' }], 'two');
		expect(() => start(one, other)).toThrow(/the agents one and two mean different servers by a/);
		expect(() => start(one, define([{ name: 'a', url, allow: ['x'] }], 'two'))).not.toThrow();
	});

	test('with servers is refused in a Worker without the plugin mcp, and the error says how to add it', () => {
		const lines = /import \{ mcp \} from 'runlet\/cloudflare\/mcp'; and createRunlet\(\{ agents, plugins: \[mcp\] \}\)/;
		expect(() => createRunlet({ agents: [define([{ name: 'a', url }])] })).toThrow(lines);
		expect(() => createRunlet({ agents: [defineAgent({ name: 'b', description: 'B.', userMcp: true })] })).toThrow(
			lines,
		);
	});
});
