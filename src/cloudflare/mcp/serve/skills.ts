import type { McpServer, Resource } from '@modelcontextprotocol/server';
import type { SkillSource } from '@modelcontextprotocol/server/ext/skills';
import { loadBody, type Skill, type SkillResolver, toMarkdown } from '../../../core/skill/index.ts';
import { SkillsExtension } from './sdk.ts';

export async function listSkills(resolver: SkillResolver): Promise<readonly Skill[]> {
	return resolver.listFn({ messages: [], model: '' });
}

/** Serves skills as resources `skill://NAME/SKILL.md`, and through the skills extension. */
export function serveSkills(server: McpServer, resolver: SkillResolver): void {
	const read = async (uri: string) => {
		const { name, path } = parseUri(uri) ?? {};
		const skill = name === undefined ? undefined : await resolver.readFn(name);
		return skill && path !== undefined ? { skill, path } : undefined;
	};
	const source: SkillSource = {
		list: async () => ({ skills: (await listSkills(resolver)).map(toEntry) }),
		get: async (uri) => {
			const found = await read(uri);
			return found?.path === main ? toEntry(found.skill) : undefined;
		},
		read: async (uri) => {
			const found = await read(uri);
			return found && readFile(found.skill, found.path);
		},
		listResources: async () => (await listSkills(resolver)).map(toResource),
	};
	new SkillsExtension({ source, onWarning: () => {} }).attach(server);
}

const main = 'SKILL.md';

function toUri(name: string): string {
	return `skill://${encodeURIComponent(name)}/${main}`;
}

function parseUri(uri: string): { readonly name: string; readonly path: string } | undefined {
	const [, name = '', path = ''] = /^skill:\/\/([^/]{1,600})\/(.{1,1000})$/.exec(uri) ?? [];
	try {
		return name === '' ? undefined : { name: decodeURIComponent(name), path: decodeURIComponent(path) };
	} catch {
		return undefined;
	}
}

/** A listed skill has no digest, because its text is read only on demand. */
function toEntry({ name, description }: Skill) {
	return { uri: toUri(name), frontmatter: { name, description }, resources: 'dynamic' as const };
}

function toResource({ name, description }: Skill): Resource {
	return { uri: toUri(name), name, description, mimeType: 'text/markdown' };
}

async function readFile(skill: Skill, path: string) {
	if (path === main) {
		const { bodyFn: _, ...written } = skill;
		return { text: toMarkdown({ ...written, body: await loadBody(skill) }), mimeType: 'text/markdown' };
	}
	const { files = {} } = skill;
	const text = Object.hasOwn(files, path) ? files[path] : undefined;
	return text === undefined ? undefined : { text, mimeType: path.endsWith('.md') ? 'text/markdown' : 'text/plain' };
}
