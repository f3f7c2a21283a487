/** The agents of a project, for commands that run them in Node. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent } from '../cloudflare/agent/define.ts';
import { isRecord } from '../core/base/json.ts';
import { UsageError } from './options.ts';
import { root } from './project.ts';

const usualModules = ['src/agents/index.ts', 'src/agents.ts', 'src/worker.ts', 'src/index.ts'];

/** Imports the agents that a module exports: agents, lists of agents, and lists in records. */
export async function readAgents(path?: string): Promise<readonly Agent[]> {
	const file = path ?? usualModules.map((name) => join(root, name)).find((name) => existsSync(name));
	if (file === undefined || !existsSync(file))
		throw new UsageError(
			`${path ?? usualModules.join(', ')}: not found. Name the module of your agents: --agents FILE`,
		);
	const exported: unknown = await import(pathToFileURL(resolve(file)).href);
	const agents = findAgents(exported);
	if (agents.length > 0) return agents;
	throw new UsageError(`${file}: exports no agent. Name the module that does: --agents FILE`);
}

function findAgents(exported: unknown): readonly Agent[] {
	const values = isRecord(exported) ? Object.values(exported) : [];
	return [...new Set(values.flatMap((value) => (Array.isArray(value) ? value : [value])).filter(isAgent))];
}

function isAgent(value: unknown): value is Agent {
	return (
		isRecord(value) && typeof value.name === 'string' && Array.isArray(value.tools) && Array.isArray(value.skillTools)
	);
}
