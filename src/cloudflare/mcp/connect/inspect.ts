import { createFieldError, RunletError, toRunletError } from '../../../core/base/errors.ts';
import { withTimeLimit } from '../../../core/base/promises.ts';
import { type AcceptedTools, listDifferences } from '../../../core/mcp/acceptance.ts';
import type { Config } from '../../config/config.ts';
import type { FoundServer } from '../servers/find.ts';
import { createAcceptance } from './accepted.ts';
import { LoginStore } from './login-store.ts';
import { openServer } from './open.ts';

/** A tool of a server. `differences` lists what changed since the tool was accepted. */
export interface InspectedTool {
	readonly name: string;
	readonly hash: string;
	readonly differences?: readonly { readonly field: string; readonly accepted: string; readonly offered: string }[];
}

export type Inspected = { readonly tools: readonly InspectedTool[] } | { readonly problem: RunletError };

/** The time limit of a server's answer, in milliseconds. */
const patienceMs = 15_000;

/** Compares the tools of a server with the accepted ones. Accepts nothing, and never throws for a server that fails. */
export async function inspectServer(config: Config, server: FoundServer): Promise<Inspected> {
	try {
		const [offered, accepted] = await Promise.all([
			listOffered(config, server),
			createAcceptance(config, server).read(),
		]);
		const tools = Object.entries(offered).map(([name, { hash, definition }]) => {
			const before = Object.hasOwn(accepted, name) ? accepted[name] : undefined;
			if (before === undefined || before.hash === hash) return { name, hash };
			return { name, hash, differences: listDifferences(before.definition, definition) };
		});
		return { tools };
	} catch (thrown) {
		return { problem: toRunletError(thrown) };
	}
}

/** Accepts tools by hash. Throws `conflict` for a tool whose hash has changed, and `not_found` for a missing tool. */
export async function acceptOffered(
	config: Config,
	server: FoundServer,
	hashes: Readonly<Record<string, string>>,
): Promise<void> {
	const offered = await listOffered(config, server);
	for (const [name, hash] of Object.entries(hashes)) {
		const field = `tools.${name.slice(0, 100)}`;
		const tool = Object.hasOwn(offered, name) ? offered[name] : undefined;
		if (tool === undefined) throw createFieldError('not_found', field, 'the server has no such tool now.');
		if (tool.hash !== hash)
			throw createFieldError('conflict', field, 'the server now says something else. Read it, and try again.');
	}
	const seen = Object.entries(offered).filter(([name]) => Object.hasOwn(hashes, name));
	await createAcceptance(config, server).replace(Object.fromEntries(seen));
}

async function listOffered(config: Config, server: FoundServer): Promise<AcceptedTools> {
	let offered: AcceptedTools = {};
	let problem: string | undefined;
	const { tokens } = server.auth === undefined ? {} : await new LoginStore(config, server).read();
	const connection = await openServer(server, {
		config,
		// Without stored tokens, starts no login: the caller possibly has only the right to read.
		mayLogIn: tokens !== undefined,
		// No tool counts as accepted here, so `accept` gets all tools of the server.
		acceptance: {
			read: async () => ({}),
			accept: async (tools) => {
				offered = tools;
			},
		},
		onProblem: ({ code, message }) => {
			if (code === 'unreachable' || code === 'login') problem = message;
		},
	});
	try {
		await withTimeLimit(Promise.resolve(connection.loadTools()), patienceMs, `The MCP server ${server.name}`);
	} finally {
		await connection.close();
	}
	const remedy = server.auth !== undefined && tokens === undefined ? ` Log in: POST /v1/mcp/${server.name}/login.` : '';
	if (problem !== undefined) throw new RunletError('network', `${problem}${remedy}`);
	return offered;
}
