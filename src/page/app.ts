/** The page: picks an agent, chats, and finds its way back to a session by `?session=ID`. */

import { ClientError, isTransient } from '../client/error.ts';
import { createSessionClient } from '../client/sessions.ts';
import type { Agent, CallAnswer, RunEvent } from '../client/types.ts';
import { describeAnswer } from '../client/words.ts';
import { createAttachments } from './attachments.ts';
import { createDesk } from './desk.ts';
import { find, withoutTurns } from './element.ts';
import { listenForFiles } from './file-drop.ts';
import { createKeyForm, readKey } from './key.ts';
import { createOpenCalls, pointAtOpenCall } from './open-calls.ts';
import { createTranscript } from './transcript.ts';
import { hideWelcome, showWelcome } from './welcome.ts';

const page = {
	agent: find('#agent', HTMLSelectElement),
	newChat: find('#new', HTMLButtonElement),
	composer: find('#composer', HTMLFormElement),
	text: find('#text', HTMLTextAreaElement),
	attach: find('#attach', HTMLButtonElement),
	picker: find('#picker', HTMLInputElement),
	send: find('#send', HTMLButtonElement),
	stop: find('#stop', HTMLButtonElement),
	status: find('#status', HTMLElement),
};
const attachments = createAttachments(find('#files', HTMLElement), find('#files-note', HTMLElement), () =>
	page.text.focus(),
);
const transcript = createTranscript();
const { calls, tail } = transcript;
const client = createSessionClient({
	// The API is beside this script, whatever path the page is at.
	baseUrl: new URL('.', import.meta.url).href,
	apiKey: readKey,
	onRetry: () => setStatus('Connection lost. Trying again…'),
});

const desk = createDesk(client);

let agents: readonly Agent[] = [];
let sessionId: string | undefined;
/** The call whose question the next message answers. */
let asking: string | undefined;
let isRunning = false;
/** Aborted when the page turns to another chat: what still runs for the old one stops and touches nothing. */
let chat = new AbortController();

/** Shows what the address names: a session, or the start of a new one. */
async function open(): Promise<void> {
	chat.abort();
	chat = new AbortController();
	const { signal } = chat;
	sessionId = new URL(location.href).searchParams.get('session') ?? undefined;
	transcript.clear();
	desk.clear();
	asking = undefined;
	hideWelcome();
	page.send.disabled = true;
	setRunning(false);
	setStatus('');
	try {
		if (agents.length === 0) showAgents(await client.listAgents({ signal }));
		setStatus('');
		if (sessionId !== undefined) return await showSession(sessionId, signal);
		welcome();
		page.send.disabled = false;
	} catch (error) {
		if (!signal.aborted) showFailure(error, isTransient(error));
	}
}

async function showSession(id: string, signal: AbortSignal): Promise<void> {
	transcript.root.setAttribute('aria-busy', 'true');
	try {
		const { session, messages } = await client.loadSession(id, { signal });
		pickAgent(session.agent);
		transcript.addHistory(messages);
		tail.toEnd();
		void desk.open(id, signal);
	} finally {
		if (!signal.aborted) transcript.root.removeAttribute('aria-busy');
	}
	page.send.disabled = false;
	await play(client.followRun(id, { signal }), signal);
}

async function send(text: string): Promise<void> {
	const said = text.trim() === '' ? undefined : text;
	if (isRunning || page.send.disabled || (said === undefined && attachments.isEmpty)) return;
	if (isHeldUp()) return;
	const { signal } = chat;
	setRunning(true);
	const files = await attachments.take();
	if (signal.aborted) return attachments.restore(files);
	hideWelcome();
	const bubble = transcript.addMessage(said ?? '', files);
	page.text.value = '';
	page.text.focus();
	tail.toEnd();
	const asked = calls.get(asking ?? '');
	asked?.setResult(text, false);
	try {
		if (sessionId === undefined) {
			sessionId = (await client.createSession({ agent: page.agent.value }, { signal })).id;
			history.pushState(null, '', `?session=${encodeURIComponent(sessionId)}`);
			desk.use(sessionId, signal);
		}
		const message = { text: said, attachments: files.length > 0 ? files : undefined };
		await play(client.sendMessage(sessionId, message, { signal }), signal);
	} catch (error) {
		if (signal.aborted) return;
		setRunning(false);
		const isAccepted = error instanceof ClientError && error.code === 'connection_lost';
		if (!isAccepted) {
			bubble.remove();
			asked?.wait();
			page.text.value ||= text;
			attachments.restore(files);
		}
		showFailure(error);
		if (error instanceof ClientError && error.code === 'conflict') await showOpenCalls(signal);
	}
}

/** Whether a call waits for a person: then no message can be sent, and the call is pointed at. */
function isHeldUp(): boolean {
	const todo = pointAtOpenCall(transcript.root);
	if (todo !== undefined) setStatus(`${todo} Your message is kept here.`);
	return todo !== undefined;
}

/** Shows the events of a run as they come, once a frame. */
async function play(events: AsyncIterable<RunEvent>, signal: AbortSignal): Promise<void> {
	const view = transcript.addRun();
	let queue: RunEvent[] = [];
	let frame = 0;

	function draw(): void {
		frame = 0;
		const events = queue;
		queue = [];
		for (const event of events) {
			view.apply(event);
			desk.apply(event);
		}
		view.flush();
		tail.keep();
	}

	let waits = false;
	setRunning(true);
	try {
		for await (const event of events) {
			if (signal.aborted) return;
			setStatus('Answering…');
			waits = event.type === 'awaiting' && event.toolCalls !== undefined;
			asking = event.type === 'awaiting' ? event.question?.callId : undefined;
			queue.push(event);
			frame ||= requestAnimationFrame(draw);
		}
		setStatus('');
	} finally {
		cancelAnimationFrame(frame);
		if (!signal.aborted) {
			draw();
			view.end();
			if (!view.root.hasChildNodes()) view.root.remove();
			setRunning(false);
		}
	}
	if (waits && !signal.aborted) await showOpenCalls(signal);
}

/** Asks for the answers that the session waits for now: some may be there already. */
async function showOpenCalls(signal: AbortSignal): Promise<void> {
	if (sessionId === undefined) return;
	const id = sessionId;
	const { toolCalls = [] } = await client.getSession(id, { signal });
	if (toolCalls.length === 0) return;
	for (const old of transcript.root.querySelectorAll('.open-calls')) old.remove();
	const box = createOpenCalls(toolCalls, async (answer) => {
		const bubble = transcript.addMessage(describeAnswer(answer));
		setStatus('');
		showAnswer(answer);
		if (box.querySelector('input:enabled') === null) box.remove();
		try {
			await play(client.submitResults(id, [answer], { signal }), signal);
		} catch (error) {
			if (signal.aborted) return;
			bubble.remove();
			box.remove();
			calls.get(answer.id)?.wait();
			showFailure(error);
			await showOpenCalls(signal);
		}
	});
	transcript.root.append(box);
	tail.toEnd();
}

/** Shows at a call what a person said of it: its result, or that it may run now. */
function showAnswer(answer: CallAnswer): void {
	const call = calls.get(answer.id);
	if (!('approve' in answer)) call?.setResult(answer.output, answer.isError === true);
	else if (answer.approve) call?.resume();
	else call?.setResult(describeAnswer(answer), true);
}

async function stop(): Promise<void> {
	if (sessionId === undefined) return;
	page.stop.disabled = true;
	try {
		await client.cancelRun(sessionId);
	} catch (error) {
		showFailure(error);
	}
	page.stop.disabled = false;
}

function startNewChat(): void {
	if (sessionId !== undefined) history.pushState(null, '', location.pathname);
	void open();
	page.text.focus();
}

/** `mayPass` says whether to open the chat again may help: by default where there was no answer. */
function showFailure(error: unknown, mayPass = error instanceof ClientError && error.status === undefined) {
	setStatus('');
	if (!(error instanceof ClientError))
		return transcript.addFailure('The page met an error of its own. A reload shows the chat again.');
	const text =
		error.code === 'unreachable'
			? 'The server does not answer. Is it running, and is this device online?'
			: error.message;
	if (mayPass) transcript.addFailure(text, { label: 'Try again', onClick: open });
	else if (error.status === 401) transcript.addFailure(text, createKeyForm(open));
	else if (error.code === 'not_found') transcript.addFailure(text, { label: 'New chat', onClick: startNewChat });
	else transcript.addFailure(text);
}

function showAgents(list: readonly Agent[]): void {
	agents = list;
	page.agent.replaceChildren(...list.map(({ name }) => new Option(name, name)));
	page.agent.disabled = list.length === 0;
}

/** Shows an agent as chosen, which the server may no longer offer. */
function pickAgent(name: string): void {
	if (!agents.some((agent) => agent.name === name)) page.agent.add(new Option(name, name));
	page.agent.value = name;
}

function welcome(): void {
	const agent = agents.find(({ name }) => name === page.agent.value) ?? agents[0];
	if (!agent) throw new ClientError('no_agent', 'This server has no agent to talk to.', { status: 200 });
	pickAgent(agent.name);
	showWelcome(agent, send);
}

function setRunning(value: boolean): void {
	isRunning = value;
	if (!value && document.activeElement === page.stop) page.text.focus();
	page.send.hidden = value;
	page.stop.hidden = !value;
}

function setStatus(text: string): void {
	const shown = withoutTurns(text);
	if (page.status.textContent !== shown) page.status.textContent = shown;
}

page.composer.addEventListener('submit', (event) => {
	event.preventDefault();
	void send(page.text.value);
});
page.text.addEventListener('keydown', (event) => {
	if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
	event.preventDefault();
	void send(page.text.value);
});
page.text.addEventListener('input', () => {
	if (page.text.value !== '') isHeldUp();
});
listenForFiles({ ...page, target: page.composer }, (files) => {
	void attachments.add(files);
	page.text.focus();
});
page.agent.addEventListener('change', startNewChat);
page.newChat.addEventListener('click', startNewChat);
page.stop.addEventListener('click', stop);
addEventListener('popstate', open);
void open();
page.text.focus();
