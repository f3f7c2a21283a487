/** The chat: shows a session, or the start of a new one, and plays its runs as they come. */

import { isTransient } from '../../client/error.ts';
import { type CallAnswer, type Client, ClientError, type RunEvent } from '../../client/index.ts';
import { describeAnswer } from '../../client/words.ts';
import { toSessionAddress } from '../parts/address.ts';
import { button, element } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createOpenCall, pointAtOpenCall } from '../parts/open-call.ts';
import { createChoice } from './choice.ts';
import { createComposer } from './composer.ts';
import { createDesk } from './desk.ts';
import { createPlayer } from './player.ts';
import { createTranscript } from './transcript.ts';
import { hideWelcome, showWelcome } from './welcome.ts';

/** `onActivity` is called when the server answers at last, and when a run begins and ends. */
export function createChat(client: Client, onActivity: () => void): Chat {
	return new Chat(client, onActivity);
}

class Chat {
	readonly #client: Client;
	readonly #onActivity: () => void;
	readonly #transcript = createTranscript();
	readonly #desk: ReturnType<typeof createDesk>;
	readonly #choice = createChoice(() => this.#startNewChat());
	readonly #composer = createComposer({
		onSend: (text) => void this.#send(text),
		onStop: () => void this.#stop(),
		onWriting: () => void this.#isHeldUp(),
	});
	#sessionId: string | undefined;
	/** The call whose question the next message answers. */
	#asking: string | undefined;
	#isRunning = false;
	/** Aborted when the page turns to another place: what still runs for the old one stops and touches nothing. */
	#visit = new AbortController();

	constructor(client: Client, onActivity: () => void) {
		this.#client = client;
		this.#onActivity = onActivity;
		this.#desk = createDesk(client);
	}

	/** Shows a session, or the start of a new one. */
	async open(id?: string): Promise<void> {
		this.close();
		this.#visit = new AbortController();
		const { signal } = this.#visit;
		this.#sessionId = id;
		this.#composer.focus();
		try {
			if (this.#choice.isEmpty) this.#choice.show(await this.#client.listAgents({ signal }));
			this.#composer.setStatus('');
			this.#onActivity();
			if (id !== undefined) return await this.#showSession(id, signal);
			this.#welcome();
			this.#composer.isReady = true;
		} catch (error) {
			if (!signal.aborted) this.#showFailure(error, isTransient(error));
		}
	}

	/** Leaves what is shown. A run goes on at the server. */
	close(): void {
		this.#visit.abort();
		this.#transcript.clear();
		this.#desk.clear();
		this.#asking = undefined;
		hideWelcome();
		this.#composer.isReady = false;
		this.#setRunning(false);
		this.#composer.setStatus('');
	}

	/** Says that a request failed for a passing reason. */
	tellRetry(): void {
		this.#composer.setStatus('Connection lost. Trying again…');
	}

	async #showSession(id: string, signal: AbortSignal): Promise<void> {
		const { root, tail } = this.#transcript;
		root.setAttribute('aria-busy', 'true');
		try {
			const { session, messages } = await this.#client.loadSession(id, { signal });
			this.#choice.pick(session);
			this.#transcript.addHistory(messages);
			tail.toEnd();
			void this.#desk.open(id, signal);
		} finally {
			if (!signal.aborted) root.removeAttribute('aria-busy');
		}
		this.#composer.isReady = true;
		await this.#play(this.#client.followRun(id, { signal }), signal);
	}

	async #send(text: string): Promise<void> {
		const composer = this.#composer;
		const { attachments } = composer;
		const said = text.trim() === '' ? undefined : text;
		if (this.#isRunning || !composer.isReady || (said === undefined && attachments.isEmpty)) return;
		if (this.#isHeldUp()) return;
		const { signal } = this.#visit;
		this.#setRunning(true);
		const files = await attachments.take();
		if (signal.aborted) return attachments.restore(files);
		hideWelcome();
		for (const old of this.#transcript.root.querySelectorAll('.again')) old.remove();
		const bubble = this.#transcript.addMessage(said ?? '', files);
		composer.clear();
		this.#transcript.tail.toEnd();
		const asked = this.#transcript.calls.get(this.#asking ?? '');
		asked?.setResult(text, false);
		try {
			const id = this.#sessionId ?? (await this.#create(signal));
			const { model } = this.#choice;
			const message = { text: said, model, attachments: files.length > 0 ? files : undefined };
			await this.#play(this.#client.sendMessage(id, message, { signal }), signal);
			this.#choice.keepModel();
		} catch (error) {
			if (signal.aborted) return;
			this.#setRunning(false);
			const isAccepted = error instanceof ClientError && error.code === 'connection_lost';
			if (!isAccepted) {
				bubble.remove();
				asked?.wait();
				composer.restore(text);
				attachments.restore(files);
			}
			this.#showFailure(error);
			if (error instanceof ClientError && error.code === 'conflict') await this.#showOpenCalls(signal);
		}
	}

	async #create(signal: AbortSignal): Promise<string> {
		const { agent } = this.#choice;
		if (agent === undefined) throw new ClientError('no_agent', 'This server has no agent to talk to.', { status: 200 });
		const { id } = await this.#client.createSession({ agent: agent.name }, { signal });
		this.#sessionId = id;
		history.pushState(null, '', toSessionAddress(id));
		this.#desk.use(id, signal);
		return id;
	}

	/** Whether a call waits for a person: then no message can be sent, and the call is pointed at. */
	#isHeldUp(): boolean {
		const todo = pointAtOpenCall(this.#transcript.root);
		if (todo !== undefined) this.#composer.setStatus(`${todo} Your message is kept here.`);
		return todo !== undefined;
	}

	/** Shows the events of a run as they come. */
	async #play(events: AsyncIterable<RunEvent>, signal: AbortSignal): Promise<void> {
		const player = createPlayer(this.#transcript, (event) => this.#desk.apply(event));
		let last: RunEvent | undefined;
		this.#setRunning(true);
		try {
			for await (const event of events) {
				if (signal.aborted) return;
				this.#composer.setStatus('Answering…');
				if (event.type === 'run.started') this.#onActivity();
				last = event;
				this.#asking = event.type === 'awaiting' ? event.question?.callId : undefined;
				player.push(event);
			}
			this.#composer.setStatus('');
		} finally {
			player.end(signal.aborted);
			if (!signal.aborted) this.#setRunning(false);
		}
		if (player.hasPlayed && !signal.aborted) {
			this.#onActivity();
			this.#desk.settle();
		}
		if (signal.aborted) return;
		if (last?.type === 'awaiting' && last.toolCalls !== undefined) await this.#showOpenCalls(signal);
		if (last?.type === 'error' || (last?.type === 'halted' && last.reason === 'budget_exceeded')) this.#offerToGoOn();
	}

	/** Asks for the answers that the session waits for now: some may be there already. */
	async #showOpenCalls(signal: AbortSignal): Promise<void> {
		if (this.#sessionId === undefined) return;
		const { root, tail } = this.#transcript;
		const id = this.#sessionId;
		const { toolCalls = [] } = await this.#client.getSession(id, { signal });
		if (toolCalls.length === 0) return;
		for (const old of root.querySelectorAll('.open-calls')) old.remove();
		const box = element('div', 'open-calls');
		box.append(
			...toolCalls.map((call) => createOpenCall(call, (answer) => void this.#answer(id, answer, box, signal))),
		);
		root.append(box);
		tail.toEnd();
	}

	async #answer(id: string, answer: CallAnswer, box: HTMLElement, signal: AbortSignal): Promise<void> {
		const bubble = this.#transcript.addMessage(describeAnswer(answer));
		this.#composer.setStatus('');
		this.#transcript.showAnswer(answer);
		if (box.querySelector('input:enabled') === null) box.remove();
		try {
			await this.#play(this.#client.submitResults(id, [answer], { signal }), signal);
		} catch (error) {
			if (signal.aborted) return;
			bubble.remove();
			box.remove();
			this.#transcript.calls.get(answer.id)?.wait();
			this.#showFailure(error);
			await this.#showOpenCalls(signal);
		}
	}

	/** Lets a person take up a run that failed, or whose budget was used up. */
	#offerToGoOn(): void {
		const { signal } = this.#visit;
		const again = button('retry again', 'Try again', () => {
			again.remove();
			if (this.#sessionId === undefined) return;
			this.#play(this.#client.continueRun(this.#sessionId, { signal }), signal).catch((error: unknown) => {
				if (!signal.aborted) this.#showFailure(error);
			});
		});
		this.#transcript.root.append(again);
		this.#transcript.tail.toEnd();
	}

	async #stop(): Promise<void> {
		if (this.#sessionId === undefined) return;
		this.#composer.stop.disabled = true;
		try {
			await this.#client.cancelRun(this.#sessionId);
		} catch (error) {
			this.#showFailure(error);
		}
		this.#composer.stop.disabled = false;
	}

	#startNewChat(): void {
		if (this.#sessionId === undefined) void this.open();
		else location.hash = '#/';
	}

	/** `mayPass` says whether to open the chat again may help: by default where there was no answer. */
	#showFailure(error: unknown, mayPass = error instanceof ClientError && error.status === undefined): void {
		this.#composer.setStatus('');
		const again = () => void this.open(this.#sessionId);
		const isGone = error instanceof ClientError && error.code === 'not_found';
		const remedy = mayPass
			? { label: 'Try again', onClick: again }
			: isGone
				? { label: 'New chat', onClick: () => this.#startNewChat() }
				: undefined;
		this.#transcript.addFailure(createFailure(error, again, remedy));
	}

	#welcome(): void {
		const { agent } = this.#choice;
		if (agent === undefined) throw new ClientError('no_agent', 'This server has no agent to talk to.', { status: 200 });
		this.#choice.pick({ agent: agent.name });
		showWelcome(agent, (text) => void this.#send(text));
	}

	#setRunning(value: boolean): void {
		this.#isRunning = value;
		this.#composer.setRunning(value);
	}
}
