import { createFieldError } from '../../core/base/errors.ts';
import { findSecret, type NamedSecret, type Needles, prepareSecrets } from '../../core/base/secrets.ts';
import { type CallSecrets, describeSecret } from '../../core/chat/flow.ts';
import type { ToolCall } from '../../core/tool/index.ts';
import type { Config } from '../config/config.ts';
import { log } from '../log.ts';
import type { Agent } from './define.ts';
import type { McpConnections } from './mcp.ts';
import { listVariables } from './mcp-servers.ts';
import { listNeeds } from './tool-needs.ts';

type SecretsConfig = Pick<Config, 'secrets' | 'readText'>;

interface CallsAbout {
	readonly connections?: Pick<McpConnections, 'secrets'>;
	readonly session?: string;
	readonly run?: string;
}

/** Creates the check of an agent's calls for secrets. Writes a line to the log for each call that it stops. */
export function createCallSecrets(
	agent: Agent,
	config: SecretsConfig,
	{ connections, session, run }: CallsAbout,
): CallSecrets {
	return {
		list: () => findCallSecrets(agent, config, connections?.secrets),
		onFound: ({ name }, secret) =>
			log('warn', 'tool.secret', {
				'gen_ai.tool.name': name,
				'runlet.secret.name': secret,
				'gen_ai.conversation.id': session,
				'runlet.run.id': run,
			}),
	};
}

/** Throws `invalid_request` if a person's arguments for a call have a secret in them. */
export function assertNoSecret(call: ToolCall, secrets: CallSecrets | undefined): void {
	const secret = secrets && findSecret(call.input, secrets.list());
	if (secret === undefined) return;
	secrets?.onFound?.(call, secret);
	throw createFieldError('invalid_request', 'input', describeSecret(secret));
}

/** The needles of each agent, by the environment, or by the secrets of the owner's servers. */
const known = new WeakMap<object, Map<string, Needles>>();

/**
 * Finds the secrets that must not be in the arguments of an agent's calls (docs/untrusted-text.md, "Secrets"): those of
 * the environment, and those of the agent's MCP servers and remote agents. Prepares them only once.
 *
 * @param ofOwner the secrets of the owner's MCP servers. The same list is the same array.
 */
export function findCallSecrets(agent: Agent, config: SecretsConfig, ofOwner: readonly NamedSecret[] = []): Needles {
	const holder = ofOwner.length > 0 ? ofOwner : config;
	const ofAgents = known.get(holder) ?? new Map<string, Needles>();
	known.set(holder, ofAgents);
	const before = ofAgents.get(agent.name);
	if (before !== undefined) return before;
	const ofTools = listNeeds([...agent.tools, ...agent.skillTools]).flatMap(({ variables }) => [...variables]);
	const variables = [...(agent.mcp ?? []).flatMap(listVariables), ...ofTools].flatMap((name) => read(config, name));
	const needles = prepareSecrets([...config.secrets, ...variables, ...ofOwner]);
	ofAgents.set(agent.name, needles);
	return needles;
}

/** A variable that is not set is no secret. Its server is left out. */
function read({ readText }: SecretsConfig, name: string): readonly NamedSecret[] {
	try {
		return [{ name, value: readText(name) }];
	} catch {
		return [];
	}
}
