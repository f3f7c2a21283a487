import { check } from '../../../core/base/check.ts';
import { providerName, type Tool } from '../../../core/tool/index.ts';
import type { Config } from '../../config/config.ts';
import { log, toFailureFields } from '../../log.ts';
import { askRegistry, type Entry } from '../../objects/directory/registry.ts';
import { storedTool } from '../../wire/tool.ts';
import { openOrRefuse, resealSecrets } from '../registered-secrets.ts';
import type { StoredTool } from './definition.ts';
import { createUserTool } from './tool.ts';

export function readStoredTool({ definition }: Pick<Entry, 'definition'>): StoredTool {
	return check(storedTool, JSON.parse(definition), 'definition', 'internal');
}

/**
 * Loads the tools of an owner, except tools whose names are already in use. Throws `overloaded` if the tools cannot be
 * read. A tool that is no longer usable is left out and logged.
 */
export async function loadUserTools(
	config: Config,
	owner: string,
	reserved: ReadonlySet<string>,
): Promise<readonly Tool[]> {
	const entries = await askRegistry(config.directories, owner, (one) => one.listEntries('tool'));
	const allowLoopback = config.local !== undefined;
	const tools = entries.flatMap((entry) => {
		const { name } = entry;
		if (reserved.has(providerName(name))) return [];
		const about = { owner, kind: 'tool', name } as const;
		try {
			const open = () => openOrRefuse(config, about, entry);
			return [createUserTool(name, readStoredTool(entry), { openSecrets: open, allowLoopback })];
		} catch (error) {
			log('warn', 'tool.not_usable', { 'gen_ai.tool.name': name, ...toFailureFields(error) });
			return [];
		}
	});
	await Promise.all(entries.map((entry) => resealSecrets(config, { owner, kind: 'tool', name: entry.name }, entry)));
	return tools;
}
