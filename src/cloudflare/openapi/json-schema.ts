import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { isRecord } from '../../core/base/json.ts';
import { agent } from '../wire/agent.ts';
import { budgetSchema, budgetState } from '../wire/budget.ts';
import { approvalEntry, question, resultEntry, toolCall, waitingCall } from '../wire/call.ts';
import { errorBody } from '../wire/error.ts';
import { runEvent } from '../wire/event.ts';
import { answerBody, attachment, messageBody, part, shownMessage } from '../wire/message.ts';
import { chunkSchema, completionSchema, errorSchema } from '../wire/protocols/openai/completion.ts';
import { completionRequest, messageSchema } from '../wire/protocols/openai/schema.ts';
import { runResult, usage } from '../wire/run.ts';
import { session, sessionBody } from '../wire/session.ts';
import { listedSkill, skill } from '../wire/skill.ts';

/** The schemas with a name. Every use of such a schema refers to its name. */
const components: Readonly<Record<string, v.GenericSchema>> = {
	Agent: agent,
	Answer: answerBody,
	Approval: approvalEntry,
	Attachment: attachment,
	Budget: budgetSchema,
	BudgetState: budgetState,
	Completion: completionSchema,
	CompletionChunk: chunkSchema,
	CompletionInput: completionRequest,
	CompletionMessage: messageSchema,
	Error: errorBody,
	ListedSkill: listedSkill,
	Message: shownMessage,
	MessageInput: messageBody,
	MessagePart: part,
	OpenAIError: errorSchema,
	Question: question,
	RunEvent: runEvent,
	RunResult: runResult,
	Session: session,
	SessionInput: sessionBody,
	Skill: skill,
	ToolCall: toolCall,
	ToolResult: resultEntry,
	Usage: usage,
	WaitingCall: waitingCall,
};

/** JSON Schema (2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Leaves out rules that JSON Schema cannot express, so the document is never stricter than the actual check. */
export function toDocumentSchema(schema: v.GenericSchema): JsonSchema {
	const name = names.get(schema);
	return name === undefined ? { ...convert(schema) } : { $ref: refTo(name) };
}

export function toNamedSchemas(): Readonly<Record<string, JsonSchema>> {
	const converted = Object.entries(toJsonSchemaDefs(components, settings));
	return Object.fromEntries(converted.map(([name, json]) => [name, { ...json }]));
}

const names = new Map(Object.entries(components).map(([name, schema]) => [schema, name]));

const refTo = (name: string) => `#/components/schemas/${name}`;

/** Converts a schema, and every named schema that it uses. */
function convert(schema: v.GenericSchema) {
	const { $schema: _, $defs: __, ...json } = toJsonSchema(schema, { ...settings, definitions: components });
	return json;
}

const settings: ConversionConfig = {
	target: 'draft-2020-12',
	// Leaves out checks that cannot be converted.
	errorMode: 'ignore',
	overrideRef: ({ referenceId }) => refTo(referenceId),
	overrideAction: ({ valibotAction: action, jsonSchema }) => {
		const { pattern: _, ...rest } = jsonSchema;
		// All query values are texts. A text that is converted to a number is documented as a number.
		if ('operation' in action && action.operation === Number) return { ...rest, type: 'integer' };
		const flags = 'requirement' in action && action.requirement instanceof RegExp ? action.requirement.flags : '';
		return /[^u]/.test(flags) ? rest : undefined;
	},
	overrideSchema: ({ valibotSchema, jsonSchema }) => {
		if ('default' in jsonSchema) return withoutDefault(jsonSchema);
		if ('check' in valibotSchema && valibotSchema.check === isRecord)
			return { type: 'object', additionalProperties: {} };
		if (!('options' in valibotSchema && valibotSchema.type === 'lazy' && Array.isArray(valibotSchema.options)))
			return undefined;
		return { anyOf: valibotSchema.options.map(convert) };
	},
};

/** Writes a default into the description. The keyword `default` would make client generators require the field. */
function withoutDefault({ default: value, ...schema }: ReturnType<typeof convert>) {
	if (value === null || typeof value === 'object') return schema;
	const words = `Default: ${String(value)}.`;
	return { ...schema, description: schema.description === undefined ? words : `${schema.description} ${words}` };
}
