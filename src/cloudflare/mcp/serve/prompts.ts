import type { CompleteRequestParams, GetPromptResult, McpServer, Prompt } from '@modelcontextprotocol/server';
import { isRecord } from '../../../core/base/json.ts';
import { loadBody, type Skill, type SkillResolver } from '../../../core/skill/index.ts';
import { isFn, schemaFromFn } from '../../../core/tool/index.ts';
import { getProperties, getRequired } from '../../../core/tool/schema.ts';
import type { Reader } from '../../wire/shown-error.ts';
import { createInvalid, orProtocolError } from './failure.ts';
import { listSkills } from './skills.ts';

/** Serves skills as prompts. A prompt has the parameters of the skill's `fn`. Without `fn`, it has only `request`. */
export function servePrompts({ server }: McpServer, resolver: SkillResolver, reader: Reader): void {
	const find = async (name: string): Promise<Skill> => {
		const skill = await resolver.readFn(name);
		if (skill === undefined || skill === null) throw createInvalid(`name: there is no prompt ${name.slice(0, 200)}.`);
		return skill;
	};
	server.registerCapabilities({ prompts: {}, completions: {} });
	server.setRequestHandler('prompts/list', () =>
		orProtocolError(reader, async () => ({
			prompts: (await listSkills(resolver)).map((skill) => ({
				name: skill.name,
				description: skill.description,
				arguments: listArguments(skill),
			})),
		})),
	);
	server.setRequestHandler('prompts/get', ({ params }) =>
		orProtocolError(reader, async () => writePrompt(await find(params.name), params.arguments ?? {})),
	);
	server.setRequestHandler('completion/complete', ({ params }) =>
		orProtocolError(reader, async () => {
			const values = (await listChoices(params, find, resolver)).filter((one) => one.startsWith(params.argument.value));
			const shown = values.slice(0, mostChoices);
			return { completion: { values: shown, total: values.length, hasMore: values.length > shown.length } };
		}),
	);
}

const mostChoices = 100;

/** The argument of a skill without parameters. */
const request = { name: 'request', description: 'What the skill is to be used for', required: false };

function listArguments({ fn }: Skill): Prompt['arguments'] {
	if (fn === undefined || !isFn(fn)) return [request];
	const { inputSchema } = schemaFromFn(fn);
	const required = getRequired(inputSchema);
	return Object.entries(getProperties(inputSchema)).map(([name, schema]) => {
		const description = isRecord(schema) ? schema.description : undefined;
		return { name, ...(typeof description === 'string' && { description }), required: required.includes(name) };
	});
}

async function writePrompt(skill: Skill, given: Readonly<Record<string, string>>): Promise<GetPromptResult> {
	const missing = listArguments(skill)?.find(({ name, required }) => required === true && given[name] === undefined);
	if (missing !== undefined) throw createInvalid(`arguments.${missing.name}: missing.`);
	const body = await loadBody(skill, given);
	const added = skill.fn === undefined ? given.request?.trim() : undefined;
	const text = added === undefined || added === '' ? body : `${body}\n\n${added}`;
	return { description: skill.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
}

async function listChoices(
	{ ref, argument }: CompleteRequestParams,
	find: (name: string) => Promise<Skill>,
	resolver: SkillResolver,
): Promise<readonly string[]> {
	if (ref.type === 'ref/resource')
		return (await listSkills(resolver)).map(({ name }) => `${encodeURIComponent(name)}/SKILL.md`);
	const { fn } = await find(ref.name);
	if (fn === undefined || !isFn(fn)) return [];
	const properties = getProperties(schemaFromFn(fn).inputSchema);
	const schema = Object.hasOwn(properties, argument.name) ? properties[argument.name] : undefined;
	const { enum: choices } = isRecord(schema) ? schema : {};
	return Array.isArray(choices) ? choices.filter((one) => typeof one === 'string') : [];
}
