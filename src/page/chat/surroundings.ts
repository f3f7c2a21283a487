/** What contains a chat: the page of Runlet, or an element in a page of somebody else. */

import type { ClientError, FeedbackClient, RunEvent, SessionClient, Usage } from '../../client/index.ts';
import type { Asking } from '../parts/asked-by.ts';
import type { Root } from '../parts/element.ts';
import type { createAgentOffer } from './agent-offer.ts';
import type { Choice } from './choice.ts';
import type { createDraftBox } from './drafts.ts';
import type { listenForEscape } from './escape.ts';
import type { createFileView } from './file-view.ts';
import type { createForkButton, forkAt } from './fork.ts';
import type { createMoneyView } from './money.ts';
import type { createSplitter } from './splitter.ts';
import type { createVersions } from './versions.ts';

/** What a chat needs of the client. */
export type ChatClient = SessionClient & FeedbackClient;

export interface Surroundings {
	readonly root: Root;
	/** Aborted when the chat is removed. */
	readonly life: AbortSignal;
	/** Where files can be dropped. */
	readonly dropArea: Window | HTMLElement;
	/** Makes the panel of the costs. Missing where the reader does not see them. */
	readonly createMoney?: typeof createMoneyView;
	/** Says who asks a person to decide. Missing where the reader does not see that. */
	readonly createAskedBy?: (asking: Asking) => HTMLElement;
	/** Says what a run used. Missing where the reader does not see costs. */
	readonly describeUsage?: (usage: Usage | undefined) => string;
	/** What only the page of Runlet has, so that the script of the element stays small. */
	readonly extras?: {
		readonly createVersions: typeof createVersions;
		readonly createAgentOffer: typeof createAgentOffer;
		readonly createDraftBox: typeof createDraftBox;
		readonly createForkButton: typeof createForkButton;
		readonly forkAt: typeof forkAt;
		readonly listenForEscape: typeof listenForEscape;
	};
	/** Makes the edge that sets the width of the pane. Missing where the pane is always a sheet. */
	readonly createSplitter?: typeof createSplitter;
	/** Shows a file. Missing where files can only be downloaded. */
	readonly createFileView?: typeof createFileView;
	/** Whether the page is of somebody else: no other session is linked. */
	readonly isEmbedded?: boolean;
	/** Whether the reader can allow calls. */
	readonly mayDecide?: () => boolean;
	/** Whether the reader can send messages. */
	readonly mayWrite?: () => boolean;
	/** Makes the choice of a new chat's agent. `onAgent` is called when a person has chosen. */
	readonly createChoice: (onAgent: (name: string) => void) => Choice;
	/** Called when a message has created a session. */
	readonly onSession: (id: string) => void;
	/** Called when a person wants a new chat. */
	readonly onNew: () => void;
	/** Opens a session that a person forked from this one. Missing where the reader cannot fork. */
	readonly onFork?: (id: string) => void;
	/** Called when a chat is opened, and when a run begins and ends. */
	readonly onActivity: () => void;
	/** Called with the events of runs that have not ended when the chat is opened. */
	readonly onEvent?: (event: RunEvent) => void;
	readonly onFailure?: (error: ClientError) => void;
	/** Forgets the token, because it has expired. The next request gets another one. */
	readonly renew?: () => void;
}
