import * as v from 'valibot';
import { check } from '../../../core/base/check.ts';
import { RunletError } from '../../../core/base/errors.ts';
import { assertPublicUrl } from '../../../core/base/public-fetch.ts';
import { redactSecrets } from '../../../core/base/text.ts';
import { type Agent, blameAgent } from '../../agent/define.ts';
import type { AgentMcpServer } from '../../agent/mcp-servers.ts';
import { assertHeaders, assertUrlReferences, listSecretNames } from '../../agent/user-tools/headers.ts';
import { longestServerName, serverName, serverSettings } from '../../wire/mcp.ts';

const schema = v.object({
	mcp: v.pipe(
		v.array(
			v.strictObject({
				name: v.pipe(
					v.string(),
					v.regex(serverName, 'Use a-z, 0-9 and single hyphens'),
					v.maxLength(longestServerName, `at most ${longestServerName} characters`),
					v.check((name) => name !== 'callback', 'is the name of a route, /v1/mcp/callback. Choose another one'),
				),
				url: v.string(),
				headers: v.optional(v.record(v.string(), v.string('must be a text'))),
				private: serverSettings.needsApproval,
				...serverSettings,
			}),
			'must be a list of servers, such as [{ name, url }]',
		),
		v.maxLength(20, 'at most 20'),
		v.check((list) => new Set(list.map(({ name }) => name)).size === list.length, 'two of them have one name'),
	),
});

/** Throws `invalid_agent`, which names the field, for a wrong server, a forbidden URL, or two servers of one name. */
export function assertServers(agents: readonly Agent[]): void {
	for (const { name, mcp = [] } of agents) {
		blameAgent(name, () => {
			check(schema, { mcp }, 'agent', 'invalid_agent');
			assertDeclared(mcp);
		});
	}
	assertServersAgree(agents);
}

/** Throws `invalid_agent` for a forbidden URL or header, and for a secret in the code. */
function assertDeclared(servers: readonly AgentMcpServer[]): void {
	for (const [index, server] of servers.entries()) {
		const field = `mcp.${index}`;
		try {
			assertPublicUrl(server.url, { allowLoopback: true });
			const { headers = {} } = server;
			assertHeaders(headers, [...listSecretNames(headers)]);
			assertUrlReferences(server.url, [...listSecretNames({ url: server.url })]);
			const written = JSON.stringify(server);
			if (redactSecrets(written) !== written)
				throw new RunletError(
					'invalid_agent',
					`headers: it has what looks like a key. Put it into a variable, and write \${NAME}.`,
				);
		} catch (error) {
			if (!(error instanceof RunletError)) throw error;
			throw new RunletError('invalid_agent', `${field}.${error.message}`, { field });
		}
	}
}

/** Throws `invalid_agent` for different servers with the same name, because their logins would mix. */
function assertServersAgree(agents: readonly Agent[]): void {
	const seen = new Map<string, { readonly agent: string; readonly what: string }>();
	for (const { name: agent, mcp = [] } of agents) {
		for (const { name, url, auth } of mcp) {
			const what = JSON.stringify([url, auth]);
			const other = seen.get(name);
			if (other !== undefined && other.what !== what)
				throw new RunletError(
					'invalid_agent',
					`mcp: the agents ${other.agent} and ${agent} mean different servers by ${name}: another url or auth. Give one of them another name.`,
					{ field: 'mcp' },
				);
			seen.set(name, { agent, what });
		}
	}
}
