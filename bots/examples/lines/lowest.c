#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char line[8192];
    while (fgets(line, sizeof line, stdin)) {
        char taken[900] = {0}, *word = strtok(line, " \n"); /* the variant */
        int cell = 0;
        strtok(NULL, " \n"); /* the side */
        while ((word = strtok(NULL, " \n"))) taken[atoi(word)] = 1;
        while (taken[cell]) cell++;
        printf("%d\n", cell);
        fflush(stdout);
    }
    return 0;
}
