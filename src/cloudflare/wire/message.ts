import * as v from 'valibot';
import { attachmentsField, shownAttachment } from './attachment.ts';
import { toolCall } from './call.ts';
import { content, shownPart } from './part.ts';
import { usage } from './usage.ts';

export const modelField = v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)));

/** What a request says that gives text and parts, where only one of them is possible. */
export const bothGiven = 'give text or parts, not both';

/** A message to a session. */
export const messageBody = v.pipe(
	v.strictObject({
		...content,
		attachments: attachmentsField,
		model: modelField,
		whenBusy: v.optional(
			v.pipe(
				v.picklist(['queue', 'reject', 'steer']),
				v.description(
					'What happens while a run goes on: it waits for its end (queue, the default), is refused (reject), or is taken up by it (steer).',
				),
			),
		),
	}),
	v.forward(
		v.check(({ text, parts }) => text === undefined || parts === undefined, bothGiven),
		['text'],
	),
	v.forward(
		v.check(
			({ text, parts, attachments = [] }) => text !== undefined || parts !== undefined || attachments.length > 0,
			'missing. Give text, parts or attachments',
		),
		['text'],
	),
);

/** The answer to a tool's question. */
export const answerBody = v.pipe(
	v.strictObject(content),
	v.forward(
		v.check(({ text, parts }) => (text === undefined) !== (parts === undefined), 'give text or parts, one of them'),
		['text'],
	),
);

const turn = v.object({
	iteration: v.pipe(v.number(), v.description('Counts the model’s turns of the run, from 1.')),
	model: v.string(),
	stopReason: v.string(),
	usage,
	streamedInputs: v.optional(v.record(v.string(), v.string())),
});

const about = {
	id: v.pipe(v.string(), v.description('Its place in the history.')),
	runId: v.optional(v.pipe(v.string(), v.description('The run that it belongs to.'))),
	attachments: v.optional(v.array(shownAttachment)),
	turn: v.optional(v.pipe(turn, v.description('Of an assistant message: the model’s turn.'))),
	isCut: v.optional(v.pipe(v.boolean(), v.description('The content is cut: the message by its id has all of it.'))),
	isReplaced: v.optional(
		v.pipe(
			v.boolean(),
			v.description('Another message took its place, or that of one before it: no model is sent it.'),
		),
	),
	isInput: v.optional(v.pipe(v.boolean(), v.description('It came from outside, with a request.'))),
	createdAt: v.pipe(v.string(), v.isoTimestamp()),
};
const parts = v.optional(v.array(shownPart));

/** A message of the history. */
export const shownMessage = v.variant('role', [
	v.object({
		...about,
		role: v.literal('system'),
		content: v.string(),
		summary: v.optional(v.boolean()),
		skills: v.optional(v.array(v.string())),
	}),
	v.object({ ...about, role: v.literal('user'), content: v.string(), parts }),
	v.object({
		...about,
		role: v.literal('assistant'),
		content: v.string(),
		parts,
		toolCalls: v.optional(v.array(toolCall)),
		reasoning: v.optional(v.string()),
	}),
	v.object({
		...about,
		role: v.literal('tool'),
		content: v.pipe(v.unknown(), v.description('What the tool gave: any JSON.')),
		toolCallId: v.string(),
		isError: v.optional(v.boolean()),
		parts,
	}),
]);
