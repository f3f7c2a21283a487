import type { Shown } from '../../shown.ts';
import type { uiChunk } from '../../ui-chunk.ts';

/** A part of the UI message stream that AI SDK 5, 6 and 7 read; the two approval kinds from 6 on. */
export type UiChunk = Shown<typeof uiChunk>;

/** Why an answer ended, in the words that every version knows. */
export type UiFinishReason = Extract<UiChunk, { type: 'finish' }>['finishReason'];
