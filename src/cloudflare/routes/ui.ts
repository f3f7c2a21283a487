import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { type Agent, chooseModel, findAgent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import { sessionIdForm } from '../auth/token.ts';
import { readConfig } from '../config/config.ts';
import { type Bytes, toByteStream } from '../objects/reach.ts';
import type { Caller, PagePost } from '../objects/session-api.ts';
import * as endpoints from '../wire/endpoints/ui.ts';
import { attachmentsField, textField } from '../wire/message.ts';
import { uiHeaders, uiNothing } from '../wire/protocols/ui/protocol.ts';
import { readAnswers, readContent } from '../wire/protocols/ui/request.ts';
import { postedMessage, type uiPost } from '../wire/ui.ts';
import { findChat } from './find-chat.ts';
import { mount, readHandling } from './request.ts';
import { askEvents, askSession, toEventStream, toJson } from './respond.ts';

/** `/v1/ui/:agent`: for `useChat` of the AI SDK (docs/ai-sdk.md). Each chat id or session token has its own session. */
export function createUiRoutes({ agents }: Pick<Runtime, 'agents'>) {
	return [
		mount(endpoints.postChat, async (c) => {
			const body = c.req.valid('json');
			const { id, caller } = findChat(c, 'ui', body.id);
			const agent = findAgent(agents, c.req.param('agent'));
			chooseModel(agent, body.model ?? undefined, readConfig(c.env).model);
			const post = readPost(agent, body, caller);
			const outcome = await askSession(c, id, (one) => one.post(caller, post, readHandling(c, body)));
			return toUiStream(id, outcome.kind === 'stream' ? outcome.stream : toByteStream(uiNothing(outcome.isWaiting)));
		}),
		mount(endpoints.resumeChat, async (c) => {
			const { id, caller } = findChat(c, 'ui', c.req.param('chat'));
			const stream = await askChat(caller, () => askEvents(c, id, (one) => one.resume(caller, c.req.param('agent'))));
			return stream === undefined ? c.body(null, 204) : toUiStream(id, stream);
		}),
		mount(endpoints.stopChat, async (c) => {
			const { id, caller } = findChat(c, 'ui', c.req.param('chat'));
			await askSession(c, id, (one) => one.cancel(caller, readHandling(c).once));
			return c.body(null, 204);
		}),
		mount(endpoints.listChat, async (c) => {
			const { id, caller } = findChat(c, 'ui', c.req.param('chat'));
			const messages = await askChat(caller, () =>
				askSession(c, id, (one) => one.pageMessages(caller, c.req.param('agent'))),
			);
			if (messages === undefined) return Response.json({ messages: [] });
			return toJson(messages, { [sessionHeader]: id.toString() });
		}),
	];
}

function readPost(
	{ name: agent }: Agent,
	{ id, messages, trigger, messageId, model }: v.InferOutput<typeof uiPost>,
	caller: Caller,
): PagePost {
	const { role, parts, id: ownId } = check(postedMessage, messages.at(-1), 'messages');
	const isAgain = trigger === 'regenerate-message';
	const about = { agent, model: model ?? undefined, isAgain, messageId: messageId || undefined };
	if (role === 'assistant') {
		if (!isAgain) return { ...about, answers: readAnswers(parts) };
		throw createFieldError('invalid_request', 'messages', 'the last one must be the message that is answered again.');
	}
	const content = readContent(parts);
	const text = check(v.optional(textField), content.text, 'messages');
	const attachments = check(attachmentsField, content.files, 'messages') ?? [];
	if (text === undefined && attachments.length === 0)
		throw createFieldError('invalid_request', 'messages', 'the last one has neither text nor files.');
	const isNamed = 'owner' in caller && !sessionIdForm.test(id);
	const create = isNamed ? { create: { agent, owner: caller.owner, user: caller.by?.user, by: caller.by } } : {};
	return {
		...about,
		input: {
			text,
			attachments,
			model: about.model,
			messageId: ownId || undefined,
			transport: 'ui',
			...create,
		},
	};
}

const sessionHeader = 'runlet-session';

function toUiStream(id: DurableObjectId, stream: Bytes): Response {
	return toEventStream(stream, { ...uiHeaders, [sessionHeader]: id.toString() });
}

/** Returns undefined if the chat does not exist. A page asks for its chat before the first message creates it. */
async function askChat<T>(caller: Caller, ask: () => Promise<T>): Promise<T | undefined> {
	try {
		return await ask();
	} catch (error) {
		if (error instanceof RunletError && error.status === 404 && 'owner' in caller) return undefined;
		throw error;
	}
}
